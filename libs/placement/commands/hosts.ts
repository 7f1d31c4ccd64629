import { DISABLED_TRAIT } from '../../domain/provider';
import type { ClearFailures, RecordFailure, SetHostEnabled, SweepHosts } from '../port/placement-store';
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

/** The traits of a host's root provider: those of one that is disabled say so. */
export function withStatus(traits: readonly string[], isEnabled: boolean): readonly string[] {
  return isEnabled || traits.includes(DISABLED_TRAIT) ? traits : [...traits, DISABLED_TRAIT];
}

/** One more failed build. The count is a number that halves every `halfLifeMs`, so it has a fraction. */
export async function recordFailure(tx: Transaction, command: Timed<RecordFailure>): Decided {
  const { host: name, halfLifeMs, startedAtMs, reason, atMs } = command;
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  const agedMs = Math.max(0, atMs - host.lastFailureAtMs);
  const failures = host.failures * 0.5 ** (agedMs / halfLifeMs) + 1;
  const isNext = startedAtMs !== undefined && startedAtMs >= host.lastFailureAtMs;
  const failuresInARow = host.failuresInARow + (isNext ? 1 : 0);
  const last = { lastFailureAtMs: atMs, lastFailure: reason.slice(0, MAX_REASON) };
  tx.put('host', name, { ...host, failures, failuresInARow, ...last, updatedAtMs: atMs });
  return undefined;
}

/** Characters of the reason that are kept. */
const MAX_REASON = 200;

/** No failure counts in a row any more; that there were some goes on to weigh. */
export async function clearFailures(tx: Transaction, { host: name, atMs }: Timed<ClearFailures>): Decided {
  const host = await tx.get('host', name);
  if (!host) return { kind: 'not_found', subject: 'host', key: name };
  if (host.failuresInARow === 0) return { kind: 'unchanged' };
  tx.put('host', name, { ...host, failuresInARow: 0, updatedAtMs: atMs });
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
