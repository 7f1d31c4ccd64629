import { TENANT_KEY, tenantsOf } from '#libs/domain/grouping/aggregate';
import type { ClassFilter, Reason } from './filter';

/**
 * tenant_isolation: a host in aggregates with the metadata `filter_tenant_id` takes only the projects that they name.
 *
 * Nova's AggregateMultiTenancyIsolation: the value is a project or several with commas between; keys that begin so
 * (`filter_tenant_id_2`) add more. A project that is named may use other hosts, too. Reason: `other_tenant`.
 */
export const tenantIsolationFilter: ClassFilter = {
  kind: 'class',
  name: 'tenant_isolation',
  saysWhere: true,
  prepare: ({ tenant }) => [
    {
      refuse({ aggregates }) {
        if (aggregates.length === 0) return undefined;
        const tenants = tenantsOf(aggregates);
        return tenants.length === 0 || (tenant !== undefined && tenants.includes(tenant)) ? undefined : OTHER_TENANT;
      },
      // Tenants ask, too: whose it is they are not told.
      describe: () => `its aggregates are for other projects only (${TENANT_KEY})`,
    },
  ],
};

const OTHER_TENANT: Reason = { symbol: 'other_tenant', phrase: 'are for other projects only' };
