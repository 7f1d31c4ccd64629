import type { AskHost } from '#libs/contracts/compute';
import { type Inventory, type Resources, refusalOf } from '#libs/domain/inventory';
import { isNestedUuidOf } from '#libs/placement/port/nested-provider';
import { heldByProvider, type OwnProvider, PROVIDER_GONE, providerGoneMessage } from './own-providers';
import type { BuildOrder, TrackedInstance } from './tracked-instance';

/** An agent's own state of its host at the moment of a claim. */
export interface OwnTruth {
  readonly host: string;
  /** Root first. */
  readonly providers: readonly OwnProvider[];
  /** The tracked instances' usage of a provider. */
  readonly usedOn: (providerUuid: string) => Resources;
  /** External usage, by provider name. */
  readonly external: ReadonlyMap<string, Resources>;
  readonly nowMs: number;
}

/**
 * The decision on a build order.
 *
 * - `build`      it fits: hold its resources and build
 * - `join`       the instance is tracked already, at this attempt or an older one: make it this attempt, report its
 *   outcome
 * - `refuse`     report the reason: it does not fit, or is another project's, whose uuid a store that lost writes gave
 *   again
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
 * The agent's `instance_claim` (Nova's resource tracker): the agent's own state has the last word, whatever the store
 * says.
 *
 * @param tracked      the instance, if the agent tracks it
 * @param isDestroyed  true when it was destroyed, by this attempt and claim or a later one
 */
export function judgeBuild(
  order: BuildOrder,
  tracked: TrackedInstance | undefined,
  isDestroyed: boolean,
  truth: OwnTruth,
): Judgement {
  if (isDestroyed) return { kind: 'destroyed' };
  if (tracked && tracked.projectId !== order.projectId) {
    return UUID_TAKEN;
  }
  if (tracked && isOlder(order, tracked)) return { kind: 'ignore' };
  if (tracked && order.arrival && tracked.attempt < order.attempt) {
    return refuse('stale_copy', `attempt ${tracked.attempt} of the instance is here still: it can not arrive`);
  }
  if (tracked) return { kind: 'join', tracked };
  if (isPast(order.deadlineAtMs, truth.nowMs)) {
    return refuse('deadline_passed', `the build had to be done ${truth.nowMs - order.deadlineAtMs} ms ago`);
  }
  return judgeRoom(order, truth);
}

/** The refusal of an order whose uuid is another project's. */
export const UUID_TAKEN = refuse('uuid_taken', 'the host has an instance of that uuid: choose another');

/** A long delayed message may be about an earlier instance of the same uuid, with an older claim. */
function isOlder(order: BuildOrder, tracked: TrackedInstance): boolean {
  return order.attempt < tracked.attempt || order.claimToken < tracked.claimToken;
}

/** An inventory less external usage, which counts as reserved, as it does for schedulers. */
function withoutExternal(inventory: Inventory, external: number): Inventory {
  return { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + external) };
}

/**
 * Each provider of the host must have capacity for its part of the claim. The host's own providers must exist; others
 * are shared, and the store decides on them. The store also decides on classes without an inventory here: an operator's
 * own class, or, in an order without providers, a sharing provider's.
 */
export function judgeRoom(order: Pick<BuildOrder, 'allocations' | 'resources'>, truth: OwnTruth): Judgement {
  const [root] = truth.providers as [OwnProvider, ...OwnProvider[]];
  const byUuid = new Map(truth.providers.map((one) => [one.uuid, one]));
  for (const [uuid, resources] of Object.entries(heldByProvider(root.uuid, order))) {
    const provider = byUuid.get(uuid);
    const isGone = provider === undefined && isNestedUuidOf(root.uuid, uuid);
    const refusal = isGone
      ? refuse(PROVIDER_GONE, providerGoneMessage(uuid))
      : provider && room(provider, resources, truth);
    if (refusal) return refusal;
  }
  return { kind: 'build' };
}

/** Undefined when it fits. */
function room(
  { name, uuid, inventories }: OwnProvider,
  resources: Resources,
  { host, usedOn, external }: OwnTruth,
): Judgement | undefined {
  for (const [resourceClass, amount] of Object.entries(resources)) {
    const inventory = inventories[resourceClass];
    if (inventory === undefined) continue;
    const own = withoutExternal(inventory, external.get(name)?.[resourceClass] ?? 0);
    const used = usedOn(uuid)[resourceClass] ?? 0;
    const refusal = refusalOf(own, used, amount);
    if (refusal === undefined) continue;
    const symbol = refusal === 'capacity' ? 'insufficient' : refusal;
    const facts = `total ${own.total}, reserved ${own.reserved}, ratio ${own.allocationRatio}, used ${used}`;
    const where = name === '' ? host : `${name} of ${host}`;
    return refuse(
      `${symbol}_${resourceClass.toLowerCase()}`,
      `${where} has no room for ${amount} ${resourceClass} (${refusal}): ${facts}`,
    );
  }
  return undefined;
}

/** Why the host has not the room that was claimed there for an instance that is to be built; undefined when it has. */
export function refusalToConfirm(
  { projectId, allocations }: Pick<AskHost, 'projectId' | 'allocations'>,
  tracked: TrackedInstance | undefined,
  truth: OwnTruth,
): { readonly reason: string; readonly message: string } | undefined {
  if (tracked?.projectId === projectId) return undefined;
  const judgement = tracked ? UUID_TAKEN : judgeRoom({ allocations, resources: {} }, truth);
  return judgement.kind === 'refuse' ? judgement : undefined;
}

/** 0 means no deadline. */
function isPast(deadlineAtMs: number, nowMs: number): boolean {
  return deadlineAtMs !== 0 && deadlineAtMs <= nowMs;
}

function refuse(reason: string, message: string): Judgement {
  return { kind: 'refuse', reason, message };
}
