import { formKeysOf } from '../../redis/schema';
import type { TableName } from '../commands/tables';

/** All keys of a cell share its hash tag, so that a cell lives on one shard of a Redis Cluster. */
export type Keys = Readonly<
  Record<
    | TableName
    | 'revision'
    | 'schema'
    | 'claimToken'
    | 'birth'
    | 'changes'
    | 'heartbeats'
    | 'counters'
    | 'decisions'
    | 'decided'
    | 'decisionRing'
    | 'allocationRequests'
    | 'allocationRequestExpiry'
    | 'candidates'
    | 'candidateExpiry'
    | 'candidateOwners'
    | 'candidatesByOwner'
    | 'candidateCounts'
    | 'pools'
    | 'nodes'
    | 'nodeChanges'
    | 'processes'
    | 'processTimes'
    | 'usageRecords',
    string
  >
>;

/** The keys of a cell. */
export function keysOf(cell: string): Keys {
  const key = (name: string) => `{${cell}}:${name}`;
  return {
    ...formKeysOf(cell),
    claimToken: key('claim-token'),
    /** Which store this is, and where it may have lost writes (`lua/include/change.lua`). */
    birth: key('birth'),
    changes: key('changes'),
    heartbeats: key('heartbeats'),
    counters: key('counters'),
    provider: key('providers'),
    usage: key('usages'),
    host: key('hosts'),
    consumer: key('consumers'),
    resource_class: key('resource-classes'),
    trait: key('traits'),
    aggregate: key('aggregates'),
    server_group: key('server-groups'),
    name: key('provider-names'),
    tree: key('trees'),
    sequence: key('sequences'),
    holder: key('host-holders'),
    quota: key('quotas'),
    cohort: key('cohorts'),
    project_usage: key('project-usages'),
    project_days: key('project-days'),
    usage_parts: key('usage-parts'),
    recent_use: key('recent-uses'),
    /** `<project> <record>`, in the order of these texts. */
    usageRecords: key('usage-records'),
    lease: key('place-leases'),
    /** Nominated amounts of leases, by provider, for claims to read. */
    nomination: key('nominations'),
    guarantee: key('guarantees'),
    reservation: key('reservations'),
    admission_turn: key('admission-turn'),
    decisions: key('decisions'),
    decided: key('decided'),
    decisionRing: key('decision-ring'),
    allocationRequests: key('allocation-requests'),
    allocationRequestExpiry: key('allocation-request-expiry'),
    candidates: key('candidates'),
    candidateExpiry: key('candidate-expiry'),
    candidateOwners: key('candidate-owners'),
    candidatesByOwner: key('candidates-by-owner'),
    candidateCounts: key('candidate-counts'),
    pools: key('pools'),
    nodes: key('nodes'),
    nodeChanges: key('node-changes'),
    processes: key('processes'),
    processTimes: key('process-times'),
  };
}
