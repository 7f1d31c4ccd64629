import type { BuildInstance } from '#libs/contracts/messages';
import { addResources, type Inventories, type Inventory, type Resources, refusalOf } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Carried } from './ledger';

/** What a host knows of itself at the moment of a claim. */
export interface OwnTruth {
  readonly host: string;
  readonly inventories: Inventories;
  /** What the instances that the agent carries hold. */
  readonly used: Resources;
  /** What everything else on the host holds. */
  readonly external: Resources;
  readonly nowMs: number;
}

/**
 * What to do with a BuildInstance.
 *
 * - `build`   it fits: hold its resources and build
 * - `join`    it is here already (or under way) at this attempt or an older one: make it this attempt, report how it goes
 * - `refuse`  report why not
 * - `ended`   it was destroyed before it could be built: report that
 * - `ignore`  a newer attempt is known: nobody waits for an answer to this one
 */
export type Judgement =
  | { readonly kind: 'build' }
  | { readonly kind: 'join'; readonly carried: Carried }
  | { readonly kind: 'refuse'; readonly reason: string; readonly message: string }
  | { readonly kind: 'ended' }
  | { readonly kind: 'ignore' };

/** The agent's `instance_claim`: its own truth has the last word, whatever the store says (Nova's resource tracker). */
export function judgeBuild(
  build: BuildInstance,
  carried: Carried | undefined,
  destroyedAttempt: number,
  truth: OwnTruth,
): Judgement {
  if (build.host !== truth.host) return refuse('wrong_host', `this is ${truth.host}, not ${build.host}`);
  if (build.attempt <= destroyedAttempt) return { kind: 'ended' };
  if (carried && carried.attempt > build.attempt) return { kind: 'ignore' };
  if (carried) return { kind: 'join', carried };
  if (isPast(build.deadlineAtMs, truth.nowMs)) {
    return refuse('deadline_passed', `the build had to be done ${truth.nowMs - build.deadlineAtMs} ms ago`);
  }
  return claim(resourcesOf(build.requestSpec), truth);
}

/** All that one instance takes: the unnumbered group and the granular ones. */
export function resourcesOf(spec: RequestSpec): Resources {
  return spec.requestGroups.reduce((sum, group) => addResources(sum, group.resources), spec.resources);
}

/** The inventory of a class once external usage is set aside: what schedulers see, too. */
export function withoutExternal(inventory: Inventory, external: number): Inventory {
  return { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + external) };
}

/** A class that the host has no inventory of is held by somebody else, such as a sharing provider: not ours to refuse. */
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
      `${truth.host} can't take ${amount} ${resourceClass} (${refusal}): ${facts}`,
    );
  }
  return { kind: 'build' };
}

/** 0 means that nobody waits with a clock in hand. */
function isPast(deadlineAtMs: number, nowMs: number): boolean {
  return deadlineAtMs !== 0 && deadlineAtMs <= nowMs;
}

function refuse(reason: string, message: string): Judgement {
  return { kind: 'refuse', reason, message };
}
