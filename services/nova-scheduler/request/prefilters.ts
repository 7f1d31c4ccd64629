import { TENANT_KEY, ZONE_KEY } from '#libs/domain/grouping/aggregate';
import type { NovaAggregate } from '../facts/nova-facts';
import { NoHost } from './no-host';
import type { NovaRequest } from './nova-request';

/** Nova's options about host aggregates, by their names in nova.conf. */
export interface PrefilterSettings {
  readonly limitTenantsToPlacementAggregate: boolean;
  readonly placementAggregateRequiredForTenants: boolean;
  readonly enableIsolatedAggregateFiltering: boolean;
}

/** Placement aggregates that host aggregates add to a query. */
export interface AggregateNeeds {
  /** Each inner list is any-of. */
  readonly memberOf: readonly (readonly string[])[];
  readonly forbidden: readonly string[];
}

/**
 * Needs of a request that follow from Nova's host aggregates: those for its project, its zone, and those that are isolated by traits
 * that it does not require.
 *
 * @throws NoHost when aggregates are required for tenants and this one has none
 */
export function aggregateNeeds(
  request: NovaRequest,
  requiredTraits: ReadonlySet<string>,
  aggregates: readonly NovaAggregate[],
  settings: PrefilterSettings,
): AggregateNeeds {
  const tenant = settings.limitTenantsToPlacementAggregate ? tenantAggregates(request, aggregates) : [];
  if (
    settings.limitTenantsToPlacementAggregate &&
    settings.placementAggregateRequiredForTenants &&
    tenant.length === 0
  ) {
    throw new NoHost('No hosts available for tenant');
  }
  const zone = request.spec.availability_zone;
  const inZone = aggregates.filter(({ metadata }) => zone !== undefined && metadata.get(ZONE_KEY) === zone);
  const isolated = settings.enableIsolatedAggregateFiltering
    ? aggregates.filter((one) => isIsolatedFrom(one, requiredTraits))
    : [];
  return {
    memberOf: [tenant, inZone].filter(({ length }) => length > 0).map((some) => some.map(({ uuid }) => uuid)),
    forbidden: isolated.map(({ uuid }) => uuid),
  };
}

function tenantAggregates({ projectId }: NovaRequest, aggregates: readonly NovaAggregate[]): NovaAggregate[] {
  return aggregates.filter(({ metadata }) =>
    [...metadata].some(([key, value]) => key.startsWith(TENANT_KEY) && value === projectId),
  );
}

/** `trait:CUSTOM_X=required` in its metadata keeps a host for requests that require the trait. */
function isIsolatedFrom({ metadata }: NovaAggregate, requiredTraits: ReadonlySet<string>): boolean {
  return [...metadata].some(
    ([key, value]) => key.startsWith('trait:') && value === 'required' && !requiredTraits.has(key.slice(6)),
  );
}
