import { aggregatesFilter } from './aggregates';
import { availabilityZoneFilter } from './availability-zone';
import { capacityFilter } from './capacity';
import { computeFilter } from './compute';
import { devicesFilter } from './devices';
import { extraSpecsFilter } from './extra-specs';
import type { Filter } from './filter';
import { chosenDomainFilter } from './groups/chosen-domain';
import { groupSpreadFilter } from './groups/group-spread';
import { groupWithinFilter } from './groups/group-within';
import { groupAffinityFilter, groupAntiAffinityFilter } from './groups/server-groups';
import { imagePropertiesFilter } from './image-properties';
import { nominatedFilter } from './limits/nominated';
import { buildLimitFilter, instanceLimitFilter } from './limits/per-host';
import { quotaFilter } from './limits/quota';
import { wholeNodeFilter } from './limits/whole-node';
import { differentHostFilter, forcedHostsFilter, ignoredHostsFilter, sameHostFilter } from './named';
import { taintsFilter } from './taints';
import { tenantIsolationFilter } from './tenant-isolation';
import { traitsFilter } from './traits';

/** Every filter, in the order in which a diagnosis lists them. To add one: write its page, put it here. */
export const FILTERS: readonly Filter[] = [
  computeFilter,
  availabilityZoneFilter,
  tenantIsolationFilter,
  taintsFilter,
  capacityFilter,
  traitsFilter,
  aggregatesFilter,
  imagePropertiesFilter,
  extraSpecsFilter,
  devicesFilter,
  instanceLimitFilter,
  buildLimitFilter,
  wholeNodeFilter,
  forcedHostsFilter,
  ignoredHostsFilter,
  sameHostFilter,
  differentHostFilter,
  groupAffinityFilter,
  groupAntiAffinityFilter,
  groupSpreadFilter,
  groupWithinFilter,
  chosenDomainFilter,
  nominatedFilter,
  quotaFilter,
];

export const FILTER_NAMES: readonly string[] = FILTERS.map((filter) => filter.name);
