import { zoneOf } from '#libs/domain/grouping/aggregate';
import type { ClassFilter, Reason } from './filter';

/**
 * availability_zone: only hosts of the zone that the request names; all hosts when it names none.
 *
 * A host is in the zone that one of its aggregates says by the metadata `availability_zone`; in `nova` when none does.
 * Reason: `other_availability_zone`.
 */
export const availabilityZoneFilter: ClassFilter = {
  kind: 'class',
  name: 'availability_zone',
  saysWhere: true,
  prepare({ availabilityZone: zone }) {
    if (zone === undefined) return [];
    return [
      {
        refuse: ({ aggregates }) => (zoneOf(aggregates) === zone ? undefined : OTHER_ZONE),
        describe: ({ aggregates }) => `wants zone '${zone}', the host is in '${zoneOf(aggregates)}'`,
      },
    ];
  },
};

const OTHER_ZONE: Reason = { symbol: 'other_availability_zone', phrase: 'are in another availability zone' };
