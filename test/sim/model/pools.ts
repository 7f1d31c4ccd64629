import { type Broken, broken, type Maps, withEntry } from './step';

interface Member {
  readonly run: string;
  readonly weight: number;
  readonly untilMs: number;
}

/** A pool of agents that share nodes by a ring: the epoch names one list of members. */
export interface Pool {
  readonly epoch: number;
  /** By service host. */
  readonly members: Maps<Member>;
}

export type Pools = Maps<Pool>;

export type PoolStep = { readonly pool: string; readonly service: string; readonly run: string } & (
  | { readonly kind: 'leave' }
  | {
      readonly kind: 'join';
      readonly atMs: number;
      readonly weight: number;
      readonly leaseMs: number;
      readonly former?: string | undefined;
      /** The epoch and the members that were answered. */
      readonly epoch: number;
      readonly members: readonly string[];
    }
);

/**
 * Every member computes the owner of each node from the list of members alone. So two may differ only while they know different epochs,
 * and a new list has a new epoch. The node's own lease decides between them.
 */
export function stepPools(pools: Pools, step: PoolStep): Pools | Broken {
  const { pool: name, service, run } = step;
  const pool = pools[name] ?? { epoch: 0, members: {} };
  const { [service]: mine, ...others } = pool.members;
  if (step.kind === 'leave') {
    return mine?.run === run ? withEntry(pools, name, { epoch: pool.epoch + 1, members: others }) : pools;
  }
  const { atMs, weight, leaseMs, former, epoch } = step;
  const isLive = mine !== undefined && mine.untilMs > atMs;
  if (isLive && mine.run !== run && mine.run !== former) {
    return broken(`${run} joins ${name} as ${service}, which ${mine.run} is for ${mine.untilMs - atMs} ms`);
  }
  const live = Object.entries(others).filter(([, { untilMs }]) => untilMs > atMs);
  const members = { ...Object.fromEntries(live), [service]: { run, weight, untilMs: atMs + leaseMs } };
  if (Object.keys(members).toSorted().join() !== step.members.toSorted().join()) {
    return broken(`${name} is told as ${step.members.join()}, and its members are ${Object.keys(members).join()}`);
  }
  const isSame = isLive && mine.run === run && mine.weight === weight && live.length === Object.keys(others).length;
  if (isSame !== (epoch === pool.epoch) || epoch < pool.epoch) {
    return broken(`${name}: epoch ${epoch} after ${pool.epoch}, though its members ${isSame ? 'stayed' : 'changed'}`);
  }
  return withEntry(pools, name, { epoch, members });
}

/** Invariant after each step: one list of members for each epoch. */
export function wrongWithPools(before: Pools, after: Pools, { pool }: PoolStep): string | undefined {
  const [old, now] = [before[pool], after[pool]];
  const listOf = (one: Pool) =>
    Object.entries(one.members)
      .map(([service, { run }]) => `${service} ${run}`)
      .toSorted();
  if (!old || !now || old.epoch !== now.epoch) return undefined;
  return listOf(old).join() === listOf(now).join()
    ? undefined
    : `${pool}: two lists of members share epoch ${now.epoch}`;
}
