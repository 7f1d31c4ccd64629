/**
 * A host aggregate, as in Nova: a group of hosts with metadata. A host may be in several. Its uuid is also the uuid of
 * a placement aggregate of its hosts' root providers.
 */
export interface Aggregate {
  readonly uuid: string;
  /** Unique in the cell. */
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** This metadata name makes an aggregate an availability zone. A host is in one zone at most. */
export const ZONE_KEY = 'availability_zone';

/** The zone of hosts without a zone aggregate (Nova's default_availability_zone). */
export const DEFAULT_ZONE = 'nova';

/** Prefix of metadata that lists the projects that may use the aggregate's hosts; all others may not. */
export const TENANT_KEY = 'filter_tenant_id';

/** Limit of the aggregates in a cell. */
export const MAX_AGGREGATES = 1_000;

/** Limit in bytes of one aggregate's metadata, so that a list of all aggregates fits into one answer. */
export const MAX_METADATA_BYTES = 4_096;

/** The zone of a host in these aggregates. */
export function zoneOf(aggregates: readonly Aggregate[]): string {
  return ownZoneOf(aggregates) ?? DEFAULT_ZONE;
}

/** The zone that the aggregates name, if any. */
export function ownZoneOf(aggregates: readonly Aggregate[]): string | undefined {
  return aggregates.find(({ metadata }) => metadata[ZONE_KEY] !== undefined)?.metadata[ZONE_KEY];
}

/** All values of a metadata name. A comma separates values, as in Nova. */
export function metadataOf(aggregates: readonly Aggregate[], name: string): readonly string[] {
  // The name may be a tenant's: `constructor` is no metadata.
  return aggregates.flatMap(({ metadata }) => (Object.hasOwn(metadata, name) ? valuesIn(metadata[name]) : []));
}

/** The projects that may use hosts in these aggregates; empty when all may. */
export function tenantsOf(aggregates: readonly Aggregate[]): readonly string[] {
  return aggregates.flatMap(({ metadata }) =>
    Object.keys(metadata).flatMap((key) => (key.startsWith(TENANT_KEY) ? valuesIn(metadata[key]) : [])),
  );
}

/** The values of one piece of metadata. */
export function valuesIn(value: string | undefined): readonly string[] {
  return value === undefined ? [] : value.split(',').map((one) => one.trim());
}
