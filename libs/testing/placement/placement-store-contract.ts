import { describeGrouping } from './grouping/placement-store-grouping';
import { describeGuarantees } from './grouping/placement-store-guarantees';
import { describeReservations } from './grouping/placement-store-reservations';
import { describeSpread } from './grouping/placement-store-spread';
import { describeWithin } from './grouping/placement-store-within';
import { describeHolders } from './hosts/placement-store-holders';
import { describeHosts } from './hosts/placement-store-hosts';
import { describeNested } from './hosts/placement-store-nested';
import { describePools } from './hosts/placement-store-pools';
import type { PlacementStoreWorld } from './placement';
import { describeClaims } from './placement-store-claims';
import { describeContention } from './placement-store-contention';
import { describeGroups, describeOwners } from './placement-store-groups';
import { describeLeases } from './placement-store-leases';
import { describeAsks, describeProcesses } from './placement-store-processes';
import { describeProviders } from './placement-store-providers';
import { describeStream } from './placement-store-stream';
import { describeQuotas } from './projects/placement-store-quotas';
import { describeUsageShares } from './projects/placement-store-usage-shares';

/** The contract suite of PlacementStore. */
export function describePlacementStore(name: string, open: () => Promise<PlacementStoreWorld>): void {
  describe(`${name} placement store`, () => {
    let world: PlacementStoreWorld;
    beforeEach(async () => {
      world = await open();
    });
    afterEach(() => world.close());

    describeProviders(() => world.store);
    describeClaims(() => world.store);
    describeOwners(() => world.store);
    describeGroups(() => world.store);
    describeQuotas(() => world);
    describeUsageShares(() => world);
    describeHosts(
      () => world.store,
      () => world.another(),
    );
    describeGrouping(() => world);
    describeSpread(() => world);
    describeWithin(() => world);
    describeLeases(() => world.store);
    describeGuarantees(() => world.store);
    describeReservations(() => world.store);
    describeNested(
      () => world.store,
      () => world.another(),
    );
    describeHolders(() => world);
    describePools(() => world);
    describeProcesses(() => world);
    describeAsks(() => world);
    describeStream(() => world);
    describeContention(() => world);
  });
}
