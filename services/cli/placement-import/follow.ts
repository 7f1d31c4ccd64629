import { type Clock, sleep } from '#libs/domain/clock';
import { apply, type Failure } from './apply';
import { type Comparison, compare, type Difference } from './compare';
import type { Endpoint } from './endpoint';
import { readChanges } from './read-changes';
import { readSnapshot, type Snapshot } from './snapshot';

export interface FollowRequest {
  readonly from: Endpoint;
  readonly to: Endpoint;
  readonly deletesExtra: boolean;
  readonly intervalMs: number;
  /** Time in which the allocations of every provider are read once. */
  readonly sweepMs: number;
  readonly clock: Clock;
  readonly interrupted: AbortSignal;
  /** Told after each round. */
  readonly onRound: (round: Round) => void;
}

/** One reading of the source, and what it led to. */
export interface Round {
  readonly source: Snapshot;
  readonly writes: number;
  /** Left after the writes of this round, as far as they were refused. */
  readonly failures: readonly Failure[];
  readonly tookMs: number;
}

/**
 * Keeps one placement API what another is, until it is interrupted: the lens on a Placement that is not to change. Each round reads what
 * changed at the source and writes it; what is refused is tried again in the next one.
 *
 * @throws BerthError when a side stays away; `aborted / interrupted`
 */
export async function follow(request: FollowRequest): Promise<void> {
  const { from, to, deletesExtra, intervalMs, sweepMs, clock, interrupted, onRound } = request;
  const by: Comparison = { hasConsumerTypes: from.minor >= 38 && to.minor >= 38, hasGenerations: to.isBerth };
  let source = await readSnapshot(from);
  let destination = await readSnapshot(to);
  let sweep: string[] = [];
  let startedAtMs = clock.elapsed();
  for (;;) {
    const differences = compare(source, destination, by).filter(({ aspect }) => deletesExtra || aspect !== 'extra');
    const { writes, failures } = await apply(to, { source, destination, differences, deletesExtra });
    if (writes > 0 || failures.length > 0)
      destination = await readChanges(to, destination, providersOf(differences, source, destination));
    const tookMs = clock.elapsed() - startedAtMs;
    onRound({ source, writes, failures, tookMs });
    await sleep(clock, intervalMs, interrupted);
    if (interrupted.aborted) return;
    startedAtMs = clock.elapsed();
    if (sweep.length === 0) sweep = [...source.providers.keys()];
    const share = Math.ceil((source.providers.size * (tookMs + intervalMs)) / sweepMs);
    const swept = new Set(sweep.splice(0, share));
    source = await readChanges(from, source, swept);
  }
}

/** Providers on which consumers that differ hold something, at either side. */
function providersOf(differences: readonly Difference[], ...sides: readonly Snapshot[]): ReadonlySet<string> {
  const held = differences.flatMap(({ of, id }) =>
    of === 'consumer' ? sides.flatMap(({ consumers }) => Object.keys(consumers.get(id)?.allocations ?? {})) : [],
  );
  return new Set(held);
}
