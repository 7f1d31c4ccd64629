import { matchesSpec } from '#libs/domain/extra-specs/matches-spec';
import { AGGREGATE_SCOPE } from '#libs/domain/extra-specs/parse';
import { TENANT_KEY, valuesIn, ZONE_KEY } from '#libs/domain/grouping/aggregate';
import type { HostState } from '../decision/host-state';
import type { ComparedProperty } from '../objects/image-properties';
import type { HostFilter } from './filter';

/** Values of a name in the metadata of a host's aggregates; a value with commas is several. */
export function metadataOf({ aggregates }: Pick<HostState, 'aggregates'>, name: string): string[] {
  return aggregates.flatMap(({ metadata }) => valuesIn(metadata.get(name)));
}

export const aggregateExtraSpecsFilter: HostFilter = {
  name: 'AggregateInstanceExtraSpecsFilter',
  runsOnRebuild: false,
  prepare({ request: { extraSpecs } }) {
    const asked = [...extraSpecs].flatMap(([key, wanted]) => {
      const name = key.startsWith(AGGREGATE_SCOPE) ? key.slice(AGGREGATE_SCOPE.length) : key;
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
        [...metadata].flatMap(([key, value]) => (key.startsWith(TENANT_KEY) ? valuesIn(value) : [])),
      );
      return tenants.length === 0 || tenants.includes(projectId) ? undefined : 'it is for other projects';
    },
};

/** The flavor is one of those that aggregates of the host are for (`instance_type`). */
export const typeAffinityFilter: HostFilter = {
  name: 'AggregateTypeAffinityFilter',
  runsOnRebuild: false,
  prepare({ request: { spec } }) {
    const { name = '' } = spec.flavor ?? {};
    return (host) => {
      const flavors = metadataOf(host, 'instance_type');
      return flavors.length === 0 || flavors.includes(name) ? undefined : `it is not for the flavor ${name}`;
    };
  },
};

/** An image whose properties have the names of metadata has one of their values, in each. */
export const imageIsolationFilter: HostFilter = {
  name: 'AggregateImagePropertiesIsolation',
  runsOnRebuild: true,
  prepare({ request: { spec }, settings }) {
    const prefix = `${settings.imageIsolationNamespace}${settings.imageIsolationSeparator}`;
    const isMeant = (key: string) => settings.imageIsolationNamespace === '' || key.startsWith(prefix);
    const asked = Object.entries(spec.image?.properties ?? {}).flatMap(([name, value]) => {
      const wanted = isMeant(name) ? inPython(value) : undefined;
      return wanted === undefined ? [] : { name, wanted };
    });
    if (asked.length === 0) return undefined;
    return (host) => {
      const other = asked.find(({ name, wanted }) => {
        const allowed = metadataOf(host, name);
        return allowed.length > 0 && !allowed.includes(wanted);
      });
      return other && `its aggregates say another ${other.name} than ${other.wanted}`;
    };
  },
};

/** A property as Nova compares it; undefined for one that is false to Python. Booleans that Berth reads itself are texts here. */
function inPython(value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null && 'inPython' in value) {
    const property = value as ComparedProperty;
    return property.isTrue ? property.inPython : undefined;
  }
  if (typeof value !== 'string' || value === '' || value === 'false') return undefined;
  return value === 'true' ? 'True' : value;
}

/** Nova 26 and before; later ones ask placement alone. */
export const availabilityZoneFilter: HostFilter = {
  name: 'AvailabilityZoneFilter',
  runsOnRebuild: false,
  prepare({ request: { spec }, settings: { defaultAvailabilityZone } }) {
    const wanted = spec.availability_zone;
    if (wanted === undefined) return undefined;
    return (host) => {
      const zones = metadataOf(host, ZONE_KEY);
      const isIn = zones.length === 0 ? wanted === defaultAvailabilityZone : zones.includes(wanted);
      return isIn ? undefined : `it is not in the availability zone ${wanted}`;
    };
  },
};
