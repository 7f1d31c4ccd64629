import type { Allocations, Consumer } from '../consumer';
import type { Resources } from '../inventory';
import { turnedUuid } from '../names';

/**
 * What holds the alternates of an instance while it is built:
 *
 * - `leased`    a lease in the store: others keep away from that room as long as there is other room, and none is taken
 * - `reserved`  a claim of its own: nobody else gets that room
 *
 * Otherwise nothing does, and an alternate may be full by the time it is needed.
 */
export type AlternatesHeld = 'leased' | 'reserved';

/**
 * Places that an instance may come to need. A lease takes no capacity. Of each instance there is one; it ends by itself, when its
 * time is over, and counts for nothing on a host where the instance holds a claim.
 *
 * - `alternates`  others are placed elsewhere as long as there is room elsewhere; claims are not checked against it
 * - `nomination`  others make room there for it: requests that are not of a higher priority do not get it (kube-scheduler's
 *                 `nominatedNodeName`), neither by a scheduler's decision nor, when that was made before, by the commit
 */
export interface PlaceLease {
  readonly kind: 'alternates' | 'nomination';
  readonly consumerUuid: string;
  readonly projectId: string;
  readonly priority: number;
  readonly untilMs: number;
  readonly places: readonly LeasedPlace[];
}

/** A host by its root provider, what would be claimed there, and how likely it is that it will be: 0..1. */
export interface LeasedPlace {
  readonly rootUuid: string;
  readonly allocations: Allocations;
  readonly likelihood: number;
}

/** Leases that the store keeps: some 300 bytes each, in every mirror, too. */
export const MAX_LEASES = 100_000;
/** More than a request has alternates. */
export const MAX_LEASED_PLACES = 100;

/**
 * The room that leases on one host want kept free, by class. They overlap: of many instances few will need their alternates,
 * so it is what is expected to be needed, by their likelihood, but never less than the largest of them needs.
 *
 * @param wanted  what each lease wants there, all classes together of its providers on the host
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

/** Of the consumers that hold what is reserved for an instance's alternates, all of it in one. */
export const RESERVATION_CONSUMER = 'RESERVATION';

/**
 * The consumer of an instance's reserved alternates, and the instance of that consumer: the one uuid is the other with the
 * second bit of its variant turned. No client can choose it (`isDerivedUuid`). (A migration's uuid differs in a bit of the version
 * instead.)
 */
export function reservationUuidOf(instanceUuid: string): string {
  return turnedUuid(instanceUuid, VARIANT_AT, 4);
}

/** Where the variant stands in a uuid's text. */
const VARIANT_AT = 19;

/** What a reservation still holds once an alternate of it is claimed. */
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

/** Whether a consumer holds what is reserved for an instance's alternates. */
export function isReservation({ consumerType, owner }: Pick<Consumer, 'consumerType' | 'owner'>): boolean {
  return consumerType === RESERVATION_CONSUMER && owner === 'conductor';
}
