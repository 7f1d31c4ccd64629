import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import * as evidence from '../../../services/conductor/evidence';
import * as hearing from '../../../services/conductor/losses/hearing';
import * as losses from '../../../services/conductor/lost-writes';
import * as uncertain from '../../../services/conductor/reconcile/while-uncertain';
import { type Mutant, mutant, mutants, withFocus } from './mutant';
import { withRule } from './reconcile-mutants';

/** Mutants of the evidence that conductors accept. */
export const EVIDENCE_MUTANTS: readonly Mutant[] = [
  mutants(
    'attempts-not-told-apart',
    'which attempt a report is about',
    mutant('', '', evidence, 'isOfPresentAttempt', () => () => true),
    mutant('', '', evidence, 'isOfPresentBuild', () => () => true),
  ),
  withRule('one-report-is-enough', 'the second report that lacks an instance', ({ record }, step) => {
    if (record === undefined || step.kind !== 'record_missing') return undefined;
    const fault = { reason: 'instance_lost', message: 'a report of its host does not have it' };
    return { kind: 'record_error', fault, claimToken: record.claimToken, passedOver: [] };
  }),
  withRule('doubt-destroys', 'keeping what is in doubt', ({ observed }, step) => {
    if (step.kind !== 'doubt' || observed.kind !== 'running') return undefined;
    const { host, instance } = observed;
    return { kind: 'destroy', host, attempt: instance.attempt, claimToken: instance.claimToken, reports: false };
  }),
  withRule('unknown-instances-are-adopted', 'asking who vouches for an instance', ({ record, observed }, step) => {
    if (record !== undefined || step.kind !== 'doubt' || observed.kind !== 'running') return undefined;
    const { projectId, userId, resources } = observed.instance;
    return { kind: 'adopt', at: { ...observed, voucher: { projectId, userId, resources } }, finding: 'adopted' };
  }),
  withFocus(
    mutant(
      'seals-prove-for-ever',
      'which claims a store may have lost the records of',
      losses,
      'mayBeForgotten',
      () => {
        return () => true;
      },
    ),
    'seals shown again',
    'build and terminate',
  ),
  mutant(
    'nothing-is-lost',
    'noticing that a store is new or went back',
    MemoryPlacementStore.prototype,
    'identify',
    (original) => {
      return async function identify(this: MemoryPlacementStore) {
        return { ...(await original.call(this)), bornAtMs: 0, jumps: [] };
      };
    },
  ),
  withFocus(
    mutant(
      'nobody-goes-on',
      'a commit of a store that went back, where there is nothing else to commit',
      MemoryPlacementStore.prototype,
      'commit',
      (original) => {
        return async function commit(this: MemoryPlacementStore, command) {
          return command.kind === 'go_on' ? { kind: 'unchanged' } : original.call(this, command);
        };
      },
    ),
    'store loses its last second',
    'older copy of builds',
  ),
  withFocus(
    mutant(
      'gives-up-unheard',
      'that hosts are heard after a loss before anything is given up',
      uncertain,
      'isDoneWhileUncertain',
      () => () => true,
    ),
    'store loses its last second',
    'older copy of builds',
  ),
  withFocus(
    mutant(
      'silent-hosts-run-nothing',
      'that a host which is down after a loss is waited for by what may run there',
      hearing.Hearing.prototype,
      'uncertainAmong',
      (original) => {
        return async function uncertainAmong(this: hearing.Hearing, c, records) {
          const unheardHosts: typeof c.placement.unheardHosts = async (sinceMs) => {
            return (await c.placement.unheardHosts(sinceMs)).filter(({ up }) => up);
          };
          const placement = Object.assign(Object.create(c.placement), { unheardHosts });
          return original.call(this, { ...c, placement }, records);
        };
      },
    ),
    'store loses its last second',
    'older copy of builds',
    'host falls silent with the store',
  ),
];
