import { openBus } from '#libs/bus/open';
import { busOptions } from '#libs/bus/options';
import { refuseTop } from '#libs/domain/cells/cell';
import { openInstanceStore } from '#libs/instances/open';
import { announce } from '#libs/placement/announce';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import { open, sealer } from '#libs/placement/sealed/allocation-request';
import { claimKeyOf, claimKeyOption, refusePublishedKey } from '#libs/placement/sealed/claim-key';
import { addressOptions } from '#libs/runtime/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { conductorOptions } from './options';
import { startConductor } from './start';

const tables = {
  bus: { busUrl: addressOptions.busUrl, ...busOptions },
  placement: placementOptions,
  claim: { claimKey: claimKeyOption },
  conductor: conductorOptions,
} as const;

/** `berth conductor`: takes build requests and sees them through. */
export const conductor: ServiceProcess<typeof tables> = {
  name: 'conductor',
  prefix: 'BERTH_CONDUCTOR_',
  tables,
  async start(config, opening) {
    const { claimKey } = config.claim;
    refuseTop(config.placement.cell);
    refusePublishedKey(claimKey, config.bus.busUrl, config.placement.storeUrl);
    const cellKey = claimKeyOf(config.placement.cell, claimKey);
    const placement = await opening.open('placement store', openPlacementStore(config.placement, opening));
    await opening.open('presence', announce(placement, 'conductor', { ...opening, clock: placement.clock }));
    const instances = await opening.open('instance store', openInstanceStore(config.placement, opening));
    const bus = await opening.open('bus', openBus(config.bus, opening));
    return startConductor({
      ...opening,
      clock: placement.clock,
      bus,
      placement,
      instances,
      leases: instances,
      flavors: instances,
      config: config.conductor,
      open: (sealed, nowMs) => open(sealed, cellKey, nowMs),
      seal: sealer(cellKey, () => ({ sealedAtMs: placement.clock.now() })),
    });
  },
};
