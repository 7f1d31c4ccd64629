import { buildFailuresWeigher } from './build-failures';
import { devicesWeigher } from './devices';
import { cpuWeigher, diskWeigher, ramWeigher } from './free-share';
import { headroomWeigher } from './headroom';
import { ioOpsWeigher } from './io-ops';
import { leasesWeigher } from './leases';
import { numInstancesWeigher } from './num-instances';
import { preferredResourcesWeigher, preferredTraitsWeigher } from './preferred';
import { softAffinityWeigher, softAntiAffinityWeigher } from './soft-groups';
import type { Weigher } from './weigher';

/** Multipliers of each weigher's 0..1; 0 leaves it out. */
export interface Weights {
  readonly weightCpu: number;
  readonly weightRam: number;
  readonly weightDisk: number;
  readonly weightHeadroom: number;
  readonly weightIoOps: number;
  readonly weightNumInstances: number;
  readonly weightBuildFailures: number;
  readonly weightLeases: number;
  readonly weightPreferredTraits: number;
  readonly weightPreferredResources: number;
  readonly weightDevices: number;
  readonly weightSoftAffinity: number;
  readonly weightSoftAntiAffinity: number;
}

/** A weigher, the setting that is its weight, and the metadata by which aggregates give their hosts another (Nova's names). */
export type WeigherEntry<W extends Weigher = Weigher> = readonly [
  weigher: W,
  setting: keyof Weights,
  multiplier?: `${string}_weight_multiplier`,
];

/** Every weigher. To add one: write its page, put it here, give it an option. */
export const WEIGHERS: readonly WeigherEntry[] = [
  [cpuWeigher, 'weightCpu', 'cpu_weight_multiplier'],
  [ramWeigher, 'weightRam', 'ram_weight_multiplier'],
  [diskWeigher, 'weightDisk', 'disk_weight_multiplier'],
  [headroomWeigher, 'weightHeadroom', 'headroom_weight_multiplier'],
  [ioOpsWeigher, 'weightIoOps', 'io_ops_weight_multiplier'],
  [numInstancesWeigher, 'weightNumInstances', 'num_instances_weight_multiplier'],
  [buildFailuresWeigher, 'weightBuildFailures', 'build_failure_weight_multiplier'],
  [leasesWeigher, 'weightLeases'],
  [preferredTraitsWeigher, 'weightPreferredTraits'],
  [preferredResourcesWeigher, 'weightPreferredResources'],
  [devicesWeigher, 'weightDevices'],
  [softAffinityWeigher, 'weightSoftAffinity'],
  [softAntiAffinityWeigher, 'weightSoftAntiAffinity'],
];
