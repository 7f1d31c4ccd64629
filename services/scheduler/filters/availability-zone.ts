import type { ClassFilter, Reason } from './filter';

/**
 * availability_zone: only hosts of the zone that the request names; all hosts when it names none.
 *
 * A host is in exactly one zone, the one its agent reports. Reason: `other_availability_zone`.
 */
export const availabilityZoneFilter: ClassFilter = {
  kind: 'class',
  name: 'availability_zone',
  prepare({ availabilityZone: zone }) {
    if (zone === undefined) return [];
    return [
      {
        refuse: ({ host }) => (host.availabilityZone === zone ? undefined : OTHER_ZONE),
        describe: ({ host }) => `wants zone '${zone}', the host is in '${host.availabilityZone}'`,
      },
    ];
  },
};

const OTHER_ZONE: Reason = { symbol: 'other_availability_zone', phrase: 'are in another availability zone' };
