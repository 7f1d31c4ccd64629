import type { Allocations, Consumer } from '../consumer';
import type { Resources } from '../inventory';
import { turnedUuid } from '../names';

/**
 * Holds on the alternates of an instance during its build:
 *
 * - `leased`    by a lease in the store: others avoid that capacity while there is other capacity; nothing is allocated
 * - `reserved`  by a claim: nobody else gets that capacity
 *
 * Otherwise nothing holds them, and an alternate may be full by the time it is needed.
 */
export type AlternatesHeld = 'leased' | 'reserved';

/**
 * Places that an instance may need. A lease takes no capacity. There is one per instance; it expires, and does not
 * count on a host where the instance holds a claim.
 *
 * - `alternates`  others are placed elsewhere while there is capacity elsewhere; claims are not checked against it
 * - `nomination`  preemption frees capacity there for it: requests without a higher priority do not get it
 *   (kube-scheduler's `nominatedNodeName`), neither from a scheduler nor, when that decided earlier, at the commit
 */
export interface PlaceLease {
  readonly kind: 'alternates' | 'nomination';
  readonly consumerUuid: string;
  readonly projectId: string;
  readonly priority: number;
  readonly untilMs: number;
  readonly places: readonly LeasedPlace[];
}

/** A host by its root provider, the resources to claim there, and the likelihood of the claim: 0..1. */
export interface LeasedPlace {
  readonly rootUuid: string;
  readonly allocations: Allocations;
  readonly likelihood: number;
}

/** Limit of the leases in the store: some 300 bytes each, also in every mirror. */
export const MAX_LEASES = 100_000;
/** Exceeds the alternates of any request. */
export const MAX_LEASED_PLACES = 100;

/**
 * The capacity that leases want kept free on one host, by class. They overlap, because few of many instances will need
 * their alternates: the sum of needs times likelihoods, but at least the largest single need.
 *
 * @param wanted  the need of each lease there, summed over its providers on the host
 */
export function roomWanted(
  wanted: readonly { readonly resources: Resources; readonly likelihood: number }[],
): Resources | undefined {
  if (wanted.length === 0) return undefined;
  const largest: Record<string, number> = {};
  const expected: Record<string, number> = {};
  for (const { resources, likelihood } of wanted) {
    for (const name in resources) {
      const amount = resources[name] as number;
      largest[name] = Math.max(largest[name] ?? 0, amount);
      expected[name] = (expected[name] ?? 0) + likelihood * amount;
    }
  }
  for (const name in largest) largest[name] = Math.max(largest[name] as number, Math.ceil(expected[name] as number));
  return largest;
}

/** Consumer type of reservations; one consumer holds all reserved alternates of an instance. */
export const RESERVATION_CONSUMER = 'RESERVATION';

/**
 * The consumer uuid of an instance's reserved alternates, and the reverse: the two differ in the second bit of the
 * variant. No client can choose such a uuid (`isDerivedUuid`). (A migration's uuid differs in a bit of the version
 * instead.)
 */
export function reservationUuidOf(instanceUuid: string): string {
  return turnedUuid(instanceUuid, VARIANT_AT, 4);
}

/** Position of the variant in a uuid's text. */
const VARIANT_AT = 19;

/** The rest of a reservation after one of its alternates is claimed. */
export function withoutPlace(held: Allocations, claimed: Allocations): Allocations {
  const left: Record<string, Resources> = {};
  for (const [uuid, resources] of Object.entries(held)) {
    const rest = Object.entries(resources)
      .map(([name, amount]) => [name, amount - (claimed[uuid]?.[name] ?? 0)] as const)
      .filter(([, amount]) => amount > 0);
    if (rest.length > 0) left[uuid] = Object.fromEntries(rest);
  }
  return left;
}

/** True when a consumer holds the reserved alternates of an instance. */
export function isReservation({ consumerType, owner }: Pick<Consumer, 'consumerType' | 'owner'>): boolean {
  return consumerType === RESERVATION_CONSUMER && owner === 'conductor';
}
