import type { Destination, Selection } from '#libs/contracts/selection';
import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { KeptRequest, PlacementStore } from '#libs/placement/port/placement-store';
import { referenceTo } from '#libs/placement/sealed/reference';
import type { SchedulerConfig } from '../options';

/** Replaces what alternates may claim by references to the store. */
export type Refer = (destinations: readonly Destination[]) => Promise<readonly Destination[]>;

/** Dependencies of allocation requests by reference. */
export interface ReferParts {
  readonly placement: Pick<PlacementStore, 'keepAllocationRequests'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<SchedulerConfig, 'allocationRequests' | 'referenceTtlMs' | 'maxReferences'>;
}

/**
 * Destinations as they are sent. By reference, the store has what alternates refer to before anybody is told of it. The host
 * that is claimed keeps its sealed request: with it a claim is made again, and an instance known, when the store has
 * forgotten both.
 *
 * @throws BerthError as the store; the claims are made then, and who asks again finds them.
 */
export function referrer({ placement, clock, random, config }: ReferParts): Refer {
  if (config.allocationRequests === 'sealed') return async (destinations) => destinations;
  return async (destinations) => {
    const kept: KeptRequest[] = [];
    const refer = (sealed: Uint8Array): Uint8Array => {
      const id = random.uuid();
      kept.push({ id, sealed });
      return referenceTo(id);
    };
    const referring = ({ allocationRequest, requiredAllocationRequest, ...place }: Selection): Selection => ({
      ...place,
      allocationRequest: refer(allocationRequest),
      ...(requiredAllocationRequest && { requiredAllocationRequest: refer(requiredAllocationRequest) }),
    });
    const referred = destinations.map((one) => ({ ...one, alternates: one.alternates.map(referring) }));
    const terms = { atMs: clock.now(), ttlMs: config.referenceTtlMs, most: config.maxReferences };
    if (kept.length > 0) await placement.keepAllocationRequests(kept, terms);
    return referred;
  };
}
