import { buildFailuresWeigher } from './build-failures';
import { cpuWeigher, diskWeigher, ramWeigher } from './free-share';
import { ioOpsWeigher } from './io-ops';
import { preferredResourcesWeigher, preferredTraitsWeigher } from './preferred';
import { softAffinityWeigher, softAntiAffinityWeigher } from './soft-groups';
import type { Weigher } from './weigher';

/** What operators multiply each weigher's 0..1 with; 0 leaves it out. */
export interface Weights {
  readonly weightCpu: number;
  readonly weightRam: number;
  readonly weightDisk: number;
  readonly weightIoOps: number;
  readonly weightBuildFailures: number;
  readonly weightPreferredTraits: number;
  readonly weightPreferredResources: number;
  readonly weightSoftAffinity: number;
  readonly weightSoftAntiAffinity: number;
}

/** Every weigher and the setting that is its weight. To add one: write its page, put it here, give it an option. */
export const WEIGHERS: readonly (readonly [Weigher, keyof Weights])[] = [
  [cpuWeigher, 'weightCpu'],
  [ramWeigher, 'weightRam'],
  [diskWeigher, 'weightDisk'],
  [ioOpsWeigher, 'weightIoOps'],
  [buildFailuresWeigher, 'weightBuildFailures'],
  [preferredTraitsWeigher, 'weightPreferredTraits'],
  [preferredResourcesWeigher, 'weightPreferredResources'],
  [softAffinityWeigher, 'weightSoftAffinity'],
  [softAntiAffinityWeigher, 'weightSoftAntiAffinity'],
];
