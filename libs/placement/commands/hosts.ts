import type { Device } from '../../domain/devices/device';
import { type FailedFor, type Host, MAX_FAILED_FOR } from '../../domain/host';
import { DISABLED_TRAIT } from '../../domain/provider';
import { nestedProviderName } from '../port/nested-provider';
import type {
  ClearFailures,
  NoteDead,
  NoteHeard,
  RecordFailure,
  SetHostEnabled,
  SweepHosts,
  TaintDevice,
} from '../port/placement-store';
import { withTaints } from './reports/report-provider';
import type { Decided, Timed, Transaction } from './transaction';

/**
 * Enables or disables a host, as an operator decided, and tells clients of the placement API by the trait of its root
 * provider, as Nova's computes do.
 */
export async function setHostEnabled(
  tx: Transaction,
  { host: name, enabled, reason, atMs }: Timed<SetHostEnabled>,
): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  if (host.enabled === enabled && host.disabledReason === reason) return { kind: 'unchanged' };
  tx.put('host', name, { ...host, enabled, disabledReason: reason, updatedAtMs: atMs });
  const provider = await tx.get('provider', host.providerUuid);
  if (!provider) return undefined;
  const others = provider.traits.filter((trait) => trait !== DISABLED_TRAIT);
  const traits = withStatus(others, enabled);
  if (traits.length === provider.traits.length) return undefined;
  tx.put('provider', provider.uuid, { ...provider, traits, updatedAtMs: atMs });
  tx.write({ kind: 'raise', key: provider.uuid });
  return undefined;
}

/**
 * Taints a device, or takes an operator's taint off. One that its agent gives it under the same key is back with its next report.
 */
export async function taintDevice(
  tx: Transaction,
  { host: hostName, device: deviceName, key, value, noExecute = false, most, atMs }: Timed<TaintDevice>,
): Decided {
  const host = await tx.get('host', hostName);
  if (!host) return { kind: 'not_found', subject: 'host', key: hostName };
  const name = nestedProviderName(hostName, deviceName);
  const named = await tx.get('name', name);
  const provider = named && (await tx.get('provider', named.uuid));
  if (!provider?.device || provider.rootUuid !== host.providerUuid) {
    return { kind: 'not_found', subject: 'provider', key: name };
  }
  const { [key]: before, ...others } = provider.tainted ?? {};
  const { [key]: sinceMs, ...evictingElse } = provider.evicting ?? {};
  if ((before ?? '') === value && (sinceMs !== undefined) === noExecute) return { kind: 'unchanged' };
  const isNew = value !== '' && !Object.hasOwn(provider.device.taints, key);
  if (isNew && Object.keys(provider.device.taints).length >= most) return { kind: 'full', subject: 'taint', most };
  const tainted = value === '' ? others : { ...others, [key]: value };
  const evicting = noExecute && value !== '' ? { ...evictingElse, [key]: sinceMs ?? atMs } : evictingElse;
  const device = withTaints(withoutTaint(provider.device, key), { tainted, evicting });
  tx.put('provider', provider.uuid, { ...provider, device, tainted, evicting, updatedAtMs: atMs });
  tx.write({ kind: 'show', key: provider.uuid });
  return undefined;
}

function withoutTaint({ evicts = {}, ...device }: Device, key: string): Device {
  const { [key]: _taint, ...taints } = device.taints;
  const { [key]: _since, ...left } = evicts;
  return { ...device, taints, ...(Object.keys(left).length > 0 ? { evicts: left } : {}) };
}

/** The traits of a host's root provider: those of one that is disabled say so. */
export function withStatus(traits: readonly string[], isEnabled: boolean): readonly string[] {
  return isEnabled || traits.includes(DISABLED_TRAIT) ? traits : [...traits, DISABLED_TRAIT];
}

/** One more failed build. The count is a number that halves every `halfLifeMs`, so it has a fraction. */
export async function recordFailure(tx: Transaction, command: Timed<RecordFailure>): Decided {
  const { host: name, halfLifeMs, startedAtMs, reason, projectId, atMs, failedAtMs = atMs } = command;
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  const known = host.failedFor?.find((one) => one.projectId === projectId);
  const isNext = startedAtMs !== undefined && startedAtMs >= host.lastFailureAtMs;
  // One tenant's builds, however many, say no more of a host than one.
  const weighs = known === undefined || failedAtMs >= known.atMs + halfLifeMs;
  if (!weighs && !isNext) return { kind: 'unchanged' };
  const lastFailureAtMs = Math.max(failedAtMs, host.lastFailureAtMs);
  const faded = host.failures * 0.5 ** ((lastFailureAtMs - host.lastFailureAtMs) / halfLifeMs);
  const failuresInARow = host.failuresInARow + (isNext && !known?.isInRow ? 1 : 0);
  const counted = { failures: faded + (weighs ? 1 : 0), failuresInARow, lastFailureAtMs };
  const failed = projectId !== undefined && {
    failedFor: withProject(host, {
      projectId,
      atMs: weighs ? failedAtMs : known.atMs,
      isInRow: isNext || known?.isInRow === true,
    }),
  };
  const lastFailure = reason.slice(0, MAX_REASON);
  tx.put('host', name, { ...host, ...counted, ...failed, lastFailure, updatedAtMs: atMs });
  return undefined;
}

function withProject({ failedFor = [] }: Host, failed: FailedFor): readonly FailedFor[] {
  return [...failedFor.filter((one) => one.projectId !== failed.projectId), failed].slice(-MAX_FAILED_FOR);
}

/** Characters of the reason that are kept. */
const MAX_REASON = 200;

/** Commits, so that a store which has gone back counts on from here. */
export async function noteHeard(tx: Transaction, { host: name, saidAfterMs }: Timed<NoteHeard>): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  if ((host.heardInFullAtMs ?? 0) >= saidAfterMs) return { kind: 'unchanged' };
  tx.put('host', name, { ...host, heardInFullAtMs: saidAfterMs });
  return undefined;
}

/** Only while the host is down: what is heard of it afterwards proves it alive again. */
export async function noteDead(tx: Transaction, { host: name, atMs }: Timed<NoteDead>): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  if (host.up) return { kind: 'unchanged' };
  tx.put('host', name, { ...host, deadAtMs: atMs });
  return undefined;
}

/** No failure counts in a row any more; that there were some goes on to weigh. */
export async function clearFailures(tx: Transaction, { host: name, atMs }: Timed<ClearFailures>): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  if (host.failuresInARow === 0) return { kind: 'unchanged' };
  const failedFor = host.failedFor?.map((one) => ({ ...one, isInRow: false }));
  tx.put('host', name, { ...host, ...(failedFor ? { failedFor } : {}), failuresInARow: 0, updatedAtMs: atMs });
  return undefined;
}

/** Marks hosts down that were silent for too long; their next report marks them up again. */
export async function sweepHosts(tx: Transaction, { silentSinceMs, limit, atMs }: Timed<SweepHosts>): Decided {
  const silent = await tx.silentHosts(silentSinceMs, limit);
  if (silent.length === 0) return { kind: 'unchanged' };
  for (const host of await tx.getAll('host', silent)) {
    if (host?.up) tx.put('host', host.name, { ...host, up: false, updatedAtMs: atMs });
  }
  for (const host of silent) tx.write({ kind: 'mute', host });
  return undefined;
}
