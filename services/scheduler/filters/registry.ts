import { aggregatesFilter } from './aggregates';
import { availabilityZoneFilter } from './availability-zone';
import { capacityFilter } from './capacity';
import { computeFilter } from './compute';
import { extraSpecsFilter } from './extra-specs';
import type { Filter } from './filter';
import { groupSpreadFilter } from './groups/group-spread';
import { groupAffinityFilter, groupAntiAffinityFilter } from './groups/server-groups';
import { imagePropertiesFilter } from './image-properties';
import { buildLimitFilter, instanceLimitFilter } from './limits';
import { differentHostFilter, forcedHostsFilter, ignoredHostsFilter, sameHostFilter } from './named';
import { quotaFilter } from './quota';
import { tenantIsolationFilter } from './tenant-isolation';
import { traitsFilter } from './traits';

/** Every filter, in the order in which a diagnosis lists them. To add one: write its page, put it here. */
export const FILTERS: readonly Filter[] = [
  computeFilter,
  availabilityZoneFilter,
  tenantIsolationFilter,
  capacityFilter,
  traitsFilter,
  aggregatesFilter,
  imagePropertiesFilter,
  extraSpecsFilter,
  instanceLimitFilter,
  buildLimitFilter,
  forcedHostsFilter,
  ignoredHostsFilter,
  sameHostFilter,
  differentHostFilter,
  groupAffinityFilter,
  groupAntiAffinityFilter,
  groupSpreadFilter,
  quotaFilter,
];

export const FILTER_NAMES: readonly string[] = FILTERS.map((filter) => filter.name);
