import type { Resources } from '../inventory';
import { byArrival, type Waiter } from './queue-order';

/** A project's use of the fleet, by which its waiting requests are ordered. */
export interface ProjectShare {
  readonly projectId: string;
  /** At least 1; one of weight 2 may use twice as much as one of weight 1. */
  readonly weight: number;
  /** Dominant share of the fleet that it holds. */
  readonly now: number;
  /** Dominant share of the fleet that it held on average, with a half-life. */
  readonly lately: number;
  /** The classes that these two are of; '' for none. */
  readonly nowClass: string;
  readonly latelyClass: string;
  readonly gainedAtMs: number;
}

/** The shares of all projects at one time. */
export interface FairShares {
  readonly atMs: number;
  readonly halfLifeMs: number;
  /** The fleet's, by resource class. */
  readonly capacity: Resources;
  readonly projects: ReadonlyMap<string, ProjectShare>;
  /** The share of a project that is not among them. */
  readonly unknown: (projectId: string) => ProjectShare;
}

/** A waiting request with the amounts that all its instances ask for. */
export interface FairWaiter extends Waiter {
  readonly asked: Resources;
}

/** The number by which a request stands in the queue, the lowest first, and its parts: `(patience * (now + lately) + ahead) / weight`. */
export interface Standing {
  readonly number: number;
  readonly now: number;
  readonly lately: number;
  readonly weight: number;
  /** Dominant shares that requests of the same project ask for, which go before it. */
  readonly ahead: number;
  /** From 1 down to 0 while the first request of a project waits for a half-life and the project gets nothing; 1 for the others. */
  readonly patience: number;
}

export interface FairOrder<T> {
  readonly waiters: readonly T[];
  /** By request id. */
  readonly standings: ReadonlyMap<string, Standing>;
}

/** The weight of a project without one. */
export const DEFAULT_WEIGHT = 1;

/**
 * The order of who waits by what projects use and used: by priority, then by standing, then by age. Total, and the same wherever
 * it is computed of the same waiters and shares.
 *
 * The naive way takes the project that used least, with all its requests: one that comes new then has everything for as long as
 * the half-life, and one that submits a thousand at once delays all others by as many. So what a project holds counts besides
 * what it used, and each of its requests counts those of its own that go before it, of higher priorities, too: the queue is
 * what dominant resource fairness would hand out one by one (Ghodsi 2011), begun at what was used lately (Slurm's fair tree,
 * Kueue's admission fair sharing with its entry penalty).
 *
 * No gain by tricks: to split a request leaves the sum of what goes before the same; to cancel one and to ask again loses its
 * age; names play no part, and weights are an operator's.
 *
 * No starvation: what was used ages only while it is not held, so a project that holds much and gets nothing would wait for
 * ever behind others that come and go. So the `patience` of its first request falls to 0 within one half-life without a gain.
 * Then only older requests go before it, and they are finitely many. What it gets by that is a gain, so nobody fills a fleet
 * with patience.
 */
export function inFairOrder<T extends FairWaiter>(waiters: readonly T[], shares: FairShares): FairOrder<T> {
  const byProject = new Map<string, T[]>();
  for (const waiter of waiters) {
    const own = byProject.get(waiter.projectId);
    if (own === undefined) byProject.set(waiter.projectId, [waiter]);
    else own.push(waiter);
  }
  const standings = new Map<string, Standing>();
  for (const [projectId, own] of byProject) {
    const share = shares.projects.get(projectId) ?? shares.unknown(projectId);
    const { now, lately, weight } = share;
    let [ahead, above] = [0, Number.POSITIVE_INFINITY];
    for (const waiter of own.sort((a, b) => b.priority - a.priority || byArrival(a, b))) {
      const { requestId, priority, asked } = waiter;
      // The first of each priority alone, or all of a project's would go by the patience of one.
      const patience = priority < above ? patienceOf(share, waiter, shares) : 1;
      above = priority;
      const number = (patience * (now + lately) + ahead) / weight;
      standings.set(requestId, { number, now, lately, weight, ahead, patience });
      ahead += dominantShare(asked, shares.capacity).share;
    }
  }
  const numberOf = ({ requestId }: T) => standings.get(requestId)?.number ?? 0;
  const order = (a: T, b: T) => b.priority - a.priority || numberOf(a) - numberOf(b) || byArrival(a, b);
  return { waiters: waiters.toSorted(order), standings };
}

/** The share of a project that holds nothing and held nothing. */
export function unusedShare(projectId: string, weight = DEFAULT_WEIGHT): ProjectShare {
  return { projectId, weight, now: 0, lately: 0, nowClass: '', latelyClass: '', gainedAtMs: 0 };
}

/** The largest part of the fleet that amounts are, of all classes that it has (dominant resource fairness). */
export function dominantShare(amounts: Resources, capacity: Resources): { share: number; resourceClass: string } {
  let dominant = { share: 0, resourceClass: '' };
  for (const name of Object.keys(amounts).sort()) {
    const all = capacity[name] ?? 0;
    const share = all > 0 ? (amounts[name] as number) / all : 0;
    if (share > dominant.share) dominant = { share, resourceClass: name };
  }
  return dominant;
}

function patienceOf(share: ProjectShare, { arrivedAtMs }: Waiter, { atMs, halfLifeMs }: FairShares): number {
  const waitedMs = atMs - Math.max(arrivedAtMs, share.gainedAtMs);
  return 1 - Math.min(1, Math.max(0, waitedMs / halfLifeMs));
}
