import { type Inventories, type Inventory, type Resources, refusalOf } from '#libs/domain/inventory';
import type { BuildOrder } from './build-order';
import type { TrackedInstance } from './ledger';

/** What an agent knows of its host at the moment of a claim. */
export interface OwnTruth {
  readonly host: string;
  readonly inventories: Inventories;
  /** What the tracked instances hold. */
  readonly used: Resources;
  /** What everything else on the host uses. */
  readonly external: Resources;
  readonly nowMs: number;
}

/**
 * What to do about a build.
 *
 * - `build`      it fits: hold its resources and build
 * - `join`       the instance is tracked already, at this attempt or an older one: make it this attempt, report its
 *                outcome
 * - `refuse`     report why not
 * - `destroyed`  it was destroyed before it could be built: report that
 * - `ignore`     a newer attempt or claim is known: no conductor waits for a report of this one
 */
export type Judgement =
  | { readonly kind: 'build' }
  | { readonly kind: 'join'; readonly tracked: TrackedInstance }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string }
  | { readonly kind: 'destroyed' }
  | { readonly kind: 'ignore' };

/**
 * The agent's `instance_claim` (Nova's resource tracker): its own truth has the last word, whatever the store says.
 *
 * @param tracked      the instance, if the agent tracks it
 * @param isDestroyed  whether it was destroyed, by this attempt and claim or a later one
 */
export function judgeBuild(
  order: BuildOrder,
  tracked: TrackedInstance | undefined,
  isDestroyed: boolean,
  truth: OwnTruth,
): Judgement {
  if (isDestroyed) return { kind: 'destroyed' };
  if (tracked && isOlder(order, tracked)) return { kind: 'ignore' };
  if (tracked) return { kind: 'join', tracked };
  if (isPast(order.deadlineAtMs, truth.nowMs)) {
    return refuse('deadline_passed', `the build had to be done ${truth.nowMs - order.deadlineAtMs} ms ago`);
  }
  return claim(order.resources, truth);
}

/** A message that was held back for long may be about an earlier instance of the same uuid: its claim is older. */
function isOlder(order: BuildOrder, tracked: TrackedInstance): boolean {
  return order.attempt < tracked.attempt || order.claimToken < tracked.claimToken;
}

/** An inventory less external usage, which counts as reserved, as it does for schedulers. */
function withoutExternal(inventory: Inventory, external: number): Inventory {
  return { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + external) };
}

/** A class without an inventory here is another provider's, such as a sharing provider's, which has admitted it. */
function claim(resources: Resources, truth: OwnTruth): Judgement {
  for (const [resourceClass, amount] of Object.entries(resources)) {
    const inventory = truth.inventories[resourceClass];
    if (inventory === undefined) continue;
    const own = withoutExternal(inventory, truth.external[resourceClass] ?? 0);
    const used = truth.used[resourceClass] ?? 0;
    const refusal = refusalOf(own, used, amount);
    if (refusal === undefined) continue;
    const symbol = refusal === 'capacity' ? 'insufficient' : refusal;
    const facts = `total ${own.total}, reserved ${own.reserved}, ratio ${own.allocationRatio}, used ${used}`;
    return refuse(
      `${symbol}_${resourceClass.toLowerCase()}`,
      `${truth.host} has no room for ${amount} ${resourceClass} (${refusal}): ${facts}`,
    );
  }
  return { kind: 'build' };
}

/** 0 is no deadline. */
function isPast(deadlineAtMs: number, nowMs: number): boolean {
  return deadlineAtMs !== 0 && deadlineAtMs <= nowMs;
}

function refuse(reason: string, message: string): Judgement {
  return { kind: 'refuse', reason, message };
}
