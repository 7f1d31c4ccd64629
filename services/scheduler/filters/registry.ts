import { aggregatesFilter } from './aggregates';
import { availabilityZoneFilter } from './availability-zone';
import { buildLimitFilter } from './build-limit';
import { capacityFilter } from './capacity';
import { computeFilter } from './compute';
import { differentHostFilter } from './different-host';
import { extraSpecsFilter } from './extra-specs';
import type { Filter } from './filter';
import { forcedHostsFilter } from './forced-hosts';
import { groupAffinityFilter } from './group-affinity';
import { groupAntiAffinityFilter } from './group-anti-affinity';
import { ignoredHostsFilter } from './ignored-hosts';
import { imagePropertiesFilter } from './image-properties';
import { instanceLimitFilter } from './instance-limit';
import { sameHostFilter } from './same-host';
import { traitsFilter } from './traits';

/** Every filter, in the order in which a diagnosis lists them. To add one: write its page, put it here. */
export const FILTERS: readonly Filter[] = [
  computeFilter,
  availabilityZoneFilter,
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
];

export const FILTER_NAMES: readonly string[] = FILTERS.map((filter) => filter.name);
