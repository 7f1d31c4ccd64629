import type { HostSummary } from '#libs/contracts/messages';
import { zoneOf } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { type QuarantineOptions, quarantinedUntilMs } from '../fleet/quarantine';
import { aggregatesOf } from '../fleet/read-host';

/** A host as operators see it. Amounts of a tree are those of its root; `berth provider tree` shows the rest. */
export function summarise(view: PlacementView, host: Host, quarantine: QuarantineOptions): HostSummary {
  const root = view.provider(host.providerUuid);
  const used = view.usage(host.providerUuid);
  const inventories = Object.entries(root?.inventories ?? {});
  return {
    host: host.name,
    providerUuid: host.providerUuid,
    cell: host.cell,
    availabilityZone: zoneOf(aggregatesOf(view, host)),
    up: host.up,
    enabled: host.enabled,
    disabledReason: host.disabledReason,
    instances: view.consumersOn(host.providerUuid).size,
    externalInstances: host.externalInstances,
    resources: Object.fromEntries(inventories.map(([name, inventory]) => [name, { inventory, used: used[name] ?? 0 }])),
    traits: root?.traits ?? [],
    aggregates: root?.aggregates ?? [],
    // The wire counts whole failures; what is left of an old one is one.
    failures: Math.ceil(host.failures),
    updatedAtMs: host.updatedAtMs,
    ioOps: host.ioOps,
    serviceHost: host.serviceHost,
    failuresInARow: host.failuresInARow,
    lastFailure: host.lastFailure,
    quarantinedUntilMs: quarantinedUntilMs(host, quarantine) ?? 0,
  };
}
