import { matchesSpec } from '#libs/domain/extra-specs/matches-spec';
import type { HostState } from '../decision/host-state';
import type { HostFilter } from './filter';

/** Values of a name in the metadata of a host's aggregates; a value with commas is several. */
export function metadataOf({ aggregates }: Pick<HostState, 'aggregates'>, name: string): string[] {
  return aggregates.flatMap(({ metadata }) => {
    const value = metadata.get(name);
    return value === undefined ? [] : value.split(',').map((one) => one.trim());
  });
}

const SCOPE = 'aggregate_instance_extra_specs:';

export const aggregateExtraSpecsFilter: HostFilter = {
  name: 'AggregateInstanceExtraSpecsFilter',
  runsOnRebuild: false,
  prepare({ request: { extraSpecs } }) {
    const asked = [...extraSpecs].flatMap(([key, wanted]) => {
      const name = key.startsWith(SCOPE) ? key.slice(SCOPE.length) : key;
      return name.includes(':') ? [] : { name, wanted };
    });
    if (asked.length === 0) return undefined;
    return (host) => {
      const missing = asked.find(({ name, wanted }) => !metadataOf(host, name).some((one) => matchesSpec(one, wanted)));
      return missing && `no aggregate of it has ${missing.name}=${missing.wanted}`;
    };
  },
};

export const multiTenancyFilter: HostFilter = {
  name: 'AggregateMultiTenancyIsolation',
  runsOnRebuild: false,
  prepare:
    ({ request: { projectId } }) =>
    ({ aggregates }) => {
      const tenants = aggregates.flatMap(({ metadata }) =>
        [...metadata]
          .filter(([key]) => key.startsWith('filter_tenant_id'))
          .flatMap(([, value]) => value.split(',').map((one) => one.trim())),
      );
      return tenants.length === 0 || tenants.includes(projectId) ? undefined : 'it is for other projects';
    },
};

/** Nova 26 and before; later ones ask placement alone. */
export const availabilityZoneFilter: HostFilter = {
  name: 'AvailabilityZoneFilter',
  runsOnRebuild: false,
  prepare({ request: { spec }, settings: { defaultAvailabilityZone } }) {
    const wanted = spec.availability_zone;
    if (wanted === undefined) return undefined;
    return (host) => {
      const zones = metadataOf(host, 'availability_zone');
      const isIn = zones.length === 0 ? wanted === defaultAvailabilityZone : zones.includes(wanted);
      return isIn ? undefined : `it is not in the availability zone ${wanted}`;
    };
  },
};
