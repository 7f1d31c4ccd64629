/** An instance of a small fleet: its project, its size, its priority. */
export interface Claimant {
  readonly project: string;
  readonly size: number;
  readonly priority: number;
}

/** A fleet of one class of resources: what each project may hold by itself, what all of them may hold, and what a host has. */
export interface Fleet {
  readonly claimants: readonly Claimant[];
  readonly limits: Readonly<Record<string, number>>;
  readonly hostCapacity: number;
  /** True when borrowers give up instances of every priority. */
  readonly givesUpAll: boolean;
  readonly sparesLenders: boolean;
}

/** Running instances, as a set of bits; all others wait. */
export type Running = number;

/** A way in which somebody who waits gets a place, and who is evicted for it. */
export interface Turn {
  readonly who: number;
  readonly kind: 'place' | 'preempt' | 'reclaim';
  readonly victims: readonly number[];
  readonly next: Running;
}

/**
 * All turns that the rules allow. Priority gains room on a host and no quota; reclaim gains quota of the cohort, from those who hold more
 * than their limits. Victims are any that suffice and of which none can be spared.
 */
export function turnsOf(fleet: Fleet, running: Running): Turn[] {
  return fleet.claimants.flatMap((_, who) => (has(running, who) ? [] : turnsFor(fleet, running, who)));
}

function turnsFor(fleet: Fleet, running: Running, who: number): Turn[] {
  const isQuota = isWithinQuota(fleet, running, who);
  const isPlace = isQuota && sizeOf(fleet, running | bit(who)) <= fleet.hostCapacity;
  if (isPlace) return [{ who, kind: 'place', victims: [], next: running | bit(who) }];
  const kind = isQuota ? 'preempt' : 'reclaim';
  if (!isQuota && !isWithinOwnLimit(fleet, running, who)) return [];
  const candidates = isQuota ? lowerThan(fleet, running, who) : borrowed(fleet, running, who);
  const suffices = (victims: readonly number[]) => {
    const left = victims.reduce((rest, one) => rest & ~bit(one), running);
    return isWithinQuota(fleet, left, who) && sizeOf(fleet, left | bit(who)) <= fleet.hostCapacity;
  };
  return subsetsOf(candidates)
    .filter(
      (victims) => suffices(victims) && !victims.some((spared) => suffices(victims.filter((one) => one !== spared))),
    )
    .map((victims) => ({
      who,
      kind,
      victims,
      next: victims.reduce((rest, one) => rest & ~bit(one), running) | bit(who),
    }));
}

/** A project holds what it may, and lends the rest: all of them together hold no more than all limits. */
function isWithinQuota(fleet: Fleet, running: Running, who: number): boolean {
  const all = Object.values(fleet.limits).reduce((sum, limit) => sum + limit, 0);
  return sizeOf(fleet, running | bit(who)) <= all;
}

function isWithinOwnLimit(fleet: Fleet, running: Running, who: number): boolean {
  const { project, size } = claimant(fleet, who);
  return heldBy(fleet, running, project) + size <= (fleet.limits[project] ?? 0);
}

/**
 * Lower priorities; but one that borrows, and that lenders may take back from whatever its priority, leaves alone what other projects
 * hold within their limits.
 */
function lowerThan(fleet: Fleet, running: Running, who: number): number[] {
  const { priority, project } = claimant(fleet, who);
  const isBorrower = fleet.givesUpAll && fleet.sparesLenders && !isWithinOwnLimit(fleet, running, who);
  return fleet.claimants.flatMap((one, n) => {
    const isSpared =
      isBorrower && one.project !== project && heldBy(fleet, running, one.project) <= (fleet.limits[one.project] ?? 0);
    return has(running, n) && one.priority < priority && !isSpared ? [n] : [];
  });
}

/** The least important that together hold what their projects have borrowed, and no more of them. */
function borrowed(fleet: Fleet, running: Running, who: number): number[] {
  const { project, priority } = claimant(fleet, who);
  const left = new Map(
    Object.entries(fleet.limits).map(([name, limit]) => [name, heldBy(fleet, running, name) - limit]),
  );
  const others = fleet.claimants.flatMap((one, n) => {
    const mayGo = one.project !== project && (fleet.givesUpAll || one.priority < priority);
    return has(running, n) && mayGo ? [{ ...one, n }] : [];
  });
  return others
    .toSorted((one, other) => one.priority - other.priority || other.n - one.n)
    .flatMap(({ project: borrower, size, n }) => {
      const more = left.get(borrower) ?? 0;
      left.set(borrower, more - size);
      return more > 0 ? [n] : [];
    });
}

function heldBy(fleet: Fleet, running: Running, project: string): number {
  return fleet.claimants.reduce((sum, one, n) => sum + (has(running, n) && one.project === project ? one.size : 0), 0);
}

function sizeOf(fleet: Fleet, running: Running): number {
  return fleet.claimants.reduce((sum, { size }, n) => sum + (has(running, n) ? size : 0), 0);
}

function claimant({ claimants }: Fleet, n: number): Claimant {
  return claimants[n] as Claimant;
}

function bit(n: number): number {
  return 1 << n;
}

function has(running: Running, n: number): boolean {
  return (running & bit(n)) !== 0;
}

function subsetsOf(all: readonly number[]): number[][] {
  return all.reduce<number[][]>((subsets, one) => [...subsets, ...subsets.map((some) => [...some, one])], [[]]);
}
