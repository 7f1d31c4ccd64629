import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../../domain/host';
import { hostProviderUuid, isMadeUuid } from '../../port/nested-provider';
import type { HostReport, ReportResult } from '../../port/placement-store';
import { withMemberships } from '../aggregates';
import { createMissing } from '../catalogue';
import { withStatus } from '../hosts';
import type { LastReport, Stored, StoredHolder, StoredProvider } from '../tables';
import type { Transaction } from '../transaction';
import { mergeReport, withKept } from './merge-report';
import { reportNested } from './report-nested';
import { inUse, putReported } from './report-provider';

type RefusedReport = Exclude<ReportResult, { kind: 'committed' }>;

/** Makes the host, its root provider and what is nested in it what its agent says, but for what operators decided. */
export async function reportHost(tx: Transaction, report: HostReport): Promise<RefusedReport | undefined> {
  const { host: name, providerUuid, agentRun, sequence, atMs, nested = [] } = report;
  const all = [report, ...nested];
  // In one round trip: a change of state is to reach placement at once.
  const [host, last, provider, [holder], full] = await Promise.all([
    tx.get('host', name),
    tx.get('sequence', name),
    tx.get('provider', providerUuid),
    tx.getStored('holder', [name]),
    createMissing(tx, namesOf(all), { atMs, by: report.reporter ?? name }),
  ]);
  const superseded = refuseEpoch(holder, report);
  if (superseded) return superseded;
  const stale = refuseStale(last, report);
  if (stale) return stale;
  if (full) return full;
  const taken = await refuseTaken(tx, report, provider);
  if (taken) return taken;
  const kept = await inUse(tx, provider, report.inventories);
  const merged = mergeReport(withKept(report, kept), provider);
  const next = nextHost(report, host);
  const isRoot = { uuid: providerUuid, name, parentUuid: undefined, rootUuid: providerUuid };
  const place = { ...(provider ?? isRoot), host: name };
  const decided = {
    traits: withStatus(merged.traits, next.enabled),
    aggregates: withMemberships(merged.aggregates, next.aggregates),
  };
  putReported(tx, place, { ...merged, ...decided }, { provider, atMs });
  const outcome = await reportNested(tx, report, provider);
  if (outcome.kind !== 'done') return outcome;
  if (host && host.providerUuid !== providerUuid) await unlink(tx, host);
  if (!host || !isSame(host, next)) tx.put('host', name, next);
  const digest = outcome.isSettled && Object.keys(kept).length === 0 ? digestOf(report) : '';
  const providerUuids = [providerUuid, ...nested.map(({ uuid }) => uuid)];
  tx.put('sequence', name, { agentRun, sequence, providerUuids, digest });
  tx.write({ kind: 'beat', host: name, atMs });
  return undefined;
}

/**
 * All that a report says of a host that is known, but when it was made, in a few bytes: two with the same digest say the
 * same.
 */
export function digestOf(report: HostReport): string {
  return hash('sha256', JSON.stringify({ ...report, atMs: 0, sequence: 0, disabled: undefined }), 'base64');
}

/** Only the holder of the host is heard; a run without an epoch, of an older version, while nobody holds it. */
function refuseEpoch(holder: Stored<StoredHolder> | undefined, { epoch, atMs }: HostReport): RefusedReport | undefined {
  const isHeard = epoch === 0 ? !holder || holder.row.untilMs <= atMs : holder?.revision === epoch;
  return isHeard ? undefined : { kind: 'epoch', present: holder?.revision };
}

/** A run of an agent numbers its reports: one that is not after the last was overtaken. */
function refuseStale(last: LastReport | undefined, { agentRun, sequence }: HostReport): RefusedReport | undefined {
  const isStale = last?.agentRun === agentRun && sequence <= last.sequence;
  return isStale ? { kind: 'stale', present: last.sequence } : undefined;
}

/**
 * A report creates its own provider, or names that of its host. One that is there and no host's is somebody's all the same: an API
 * client's, as Nova's nodes and shared pools are. Neither may a uuid be created that is made of another's name, to be in its way.
 */
async function refuseTaken(
  tx: Transaction,
  { host, cell, providerUuid, mayTake = false }: HostReport,
  provider: StoredProvider | undefined,
): Promise<RefusedReport | undefined> {
  const taken = { kind: 'exists', subject: 'provider', key: providerUuid } as const;
  const isOwn = providerUuid === hostProviderUuid(cell, host);
  if (provider?.host !== undefined) return provider.host === host ? undefined : taken;
  if (provider) return mayTake || (isOwn && provider.name === host) ? undefined : taken;
  if (isMadeUuid(providerUuid) && !isOwn) return taken;
  return (await tx.get('name', host)) ? { ...taken, key: host } : undefined;
}

/** The host has another provider now; the one it had stays, without a host and what operators put the host into. */
async function unlink(tx: Transaction, { providerUuid, aggregates: memberships }: Host): Promise<void> {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return;
  const aggregates = provider.aggregates.filter((uuid) => !memberships.includes(uuid));
  tx.put('provider', providerUuid, { ...provider, host: undefined, aggregates });
  tx.write({ kind: 'show', key: providerUuid });
}

function nextHost(report: HostReport, host: Host | undefined): Host {
  const { providerUuid, cell, serviceHost, capabilities, ioOps, externalInstances } = report;
  const { agentRun, sequence, epoch, disabled } = report;
  const unknown = {
    enabled: !disabled,
    disabledReason: disabled?.reason ?? '',
    aggregates: [],
    failures: 0,
    lastFailureAtMs: 0,
    failuresInARow: 0,
    lastFailure: '',
  };
  const { deadAtMs: _isAlive, ...kept } = host ?? { ...unknown, deadAtMs: undefined };
  return {
    ...kept,
    name: report.host,
    providerUuid,
    cell,
    serviceHost,
    capabilities,
    ioOps,
    externalInstances,
    agentRun,
    sequence,
    epoch,
    up: true,
    updatedAtMs: report.atMs,
  };
}

function isSame(host: Host, next: Host): boolean {
  return isDeepStrictEqual(host, { ...next, sequence: host.sequence, updatedAtMs: host.updatedAtMs });
}

function namesOf(all: readonly Pick<HostReport, 'inventories' | 'traits'>[]) {
  return {
    resource_class: unique(all.flatMap(({ inventories }) => Object.keys(inventories))),
    trait: unique(all.flatMap(({ traits }) => traits)),
  };
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
