import {
  aggregateExtraSpecsFilter,
  availabilityZoneFilter,
  imageIsolationFilter,
  multiTenancyFilter,
  typeAffinityFilter,
} from './aggregates';
import { computeCapabilitiesFilter } from './capabilities';
import type { HostFilter } from './filter';
import { numaTopologyFilter, pciPassthroughFilter } from './hardware';
import {
  aggregateIoOpsFilter,
  aggregateNumInstancesFilter,
  allHostsFilter,
  computeFilter,
  ioOpsFilter,
  numInstancesFilter,
} from './hosts';
import { imagePropertiesFilter } from './image-properties';
import { cidrAffinityFilter, isolatedHostsFilter } from './isolated-hosts';
import { jsonFilter } from './json';
import { metricsFilter } from './metrics';
import { affinityFilter, antiAffinityFilter, differentHostFilter, sameHostFilter } from './server-groups';

/** Nova's filters that Berth has, cheap and selective ones first. */
export const FILTERS: readonly HostFilter[] = [
  computeFilter,
  availabilityZoneFilter,
  multiTenancyFilter,
  typeAffinityFilter,
  isolatedHostsFilter,
  imageIsolationFilter,
  imagePropertiesFilter,
  computeCapabilitiesFilter,
  aggregateExtraSpecsFilter,
  antiAffinityFilter,
  affinityFilter,
  sameHostFilter,
  differentHostFilter,
  cidrAffinityFilter,
  numInstancesFilter,
  aggregateNumInstancesFilter,
  ioOpsFilter,
  aggregateIoOpsFilter,
  allHostsFilter,
  metricsFilter,
  jsonFilter,
  pciPassthroughFilter,
  numaTopologyFilter,
];

/** Filters that need Nova's database: while it is not read, requests that ask something of them are handed over or refused. */
export const DATABASE_FILTERS = [numaTopologyFilter, pciPassthroughFilter, metricsFilter].map(({ name }) => name);

export const FILTER_NAMES: readonly string[] = FILTERS.map(({ name }) => name);

/** Nova's own default. */
export const DEFAULT_FILTERS: readonly string[] = [
  'ComputeFilter',
  'ComputeCapabilitiesFilter',
  'ImagePropertiesFilter',
  'ServerGroupAntiAffinityFilter',
  'ServerGroupAffinityFilter',
];
