/**
 * A host aggregate, as Nova has it: hosts that an operator groups, and facts about them. A host may be in several. Its uuid
 * is also that of a placement aggregate of its hosts' root providers.
 */
export interface Aggregate {
  readonly uuid: string;
  /** No other aggregate has it. */
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Metadata of this name makes an aggregate an availability zone. A host is in one at most. */
export const ZONE_KEY = 'availability_zone';

/** The zone of hosts that are in no zone by an aggregate (Nova's default_availability_zone). */
export const DEFAULT_ZONE = 'nova';

/** Metadata whose names begin so say which projects may use the hosts of an aggregate; nobody else may. */
export const TENANT_KEY = 'filter_tenant_id';

/** Aggregates of a cell. */
export const MAX_AGGREGATES = 1_000;

/** Bytes of an aggregate's metadata, so that all aggregates fit into one answer. */
export const MAX_METADATA_BYTES = 4_096;

/** The zone of a host that is in these aggregates. */
export function zoneOf(aggregates: readonly Aggregate[]): string {
  return ownZoneOf(aggregates) ?? DEFAULT_ZONE;
}

/** The zone that aggregates say, if one does. */
export function ownZoneOf(aggregates: readonly Aggregate[]): string | undefined {
  return aggregates.find(({ metadata }) => metadata[ZONE_KEY] !== undefined)?.metadata[ZONE_KEY];
}

/** All that aggregates say under a name. A value with commas is several, as in Nova. */
export function metadataOf(aggregates: readonly Aggregate[], name: string): readonly string[] {
  return aggregates.flatMap(({ metadata }) => valuesIn(metadata[name]));
}

/** The projects that hosts in these aggregates are for; none when they are for all. */
export function tenantsOf(aggregates: readonly Aggregate[]): readonly string[] {
  return aggregates.flatMap(({ metadata }) =>
    Object.keys(metadata).flatMap((key) => (key.startsWith(TENANT_KEY) ? valuesIn(metadata[key]) : [])),
  );
}

/** The values of one piece of metadata. */
export function valuesIn(value: string | undefined): readonly string[] {
  return value === undefined ? [] : value.split(',').map((one) => one.trim());
}
