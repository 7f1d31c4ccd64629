import { answer } from '#libs/bus/typed-calls';
import { listZonesMethod, type ZoneView } from '#libs/contracts/aggregates';
import { MAX_NAMES } from '#libs/contracts/limits';
import { BerthError } from '#libs/domain/errors';
import { zoneOf } from '#libs/domain/grouping/aggregate';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { aggregatesOf } from '../fleet/read-host';

/**
 * The calls about availability zones: everybody may know which there are, operators whose hosts they are.
 *
 * @throws BerthError `not_found / no_such_zone`.
 */
export function zoneCalls(view: PlacementView) {
  return answer(listZonesMethod, async ({ name: wanted }, { identity }) => {
    const zones = new Map<string, { hosts: string[]; availableCount: number }>();
    for (const host of view.hosts()) {
      const name = zoneOf(aggregatesOf(view, host));
      if (wanted !== '' && name !== wanted) continue;
      const zone = zones.get(name) ?? { hosts: [], availableCount: 0 };
      zone.hosts.push(host.name);
      if (host.up && host.enabled) zone.availableCount += 1;
      zones.set(name, zone);
    }
    if (wanted !== '' && zones.size === 0) {
      throw new BerthError('not_found', 'no_such_zone', `there is no zone '${wanted}'`, { details: { zone: wanted } });
    }
    const isShown = wanted !== '' && identity.kind === 'service';
    return {
      zones: [...zones]
        .map(([name, { hosts, availableCount }]): ZoneView => {
          return { name, hostCount: hosts.length, availableCount };
        })
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      hosts: isShown ? (zones.get(wanted)?.hosts ?? []).sort().slice(0, MAX_NAMES) : [],
    };
  });
}
