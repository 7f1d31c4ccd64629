import type { HistoryOf } from './history';

/** The data of the capacity page. Hosts that are down or disabled have no capacity. */
export interface CapacityPage {
  readonly classes: readonly string[];
  readonly zones: readonly ZoneCapacity[];
  /** Undefined while no conductor tells the flavors. */
  readonly flavors: readonly FlavorFit[] | undefined;
  readonly projects: readonly ProjectRow[];
  /** The smallest flavor, which defines stranded capacity; '' without flavors. */
  readonly smallest: string;
}

export interface ZoneCapacity {
  readonly zone: string;
  readonly hosts: number;
  /** Number of hosts that take builds. */
  readonly open: number;
  /** By `CapacityPage.classes`, over all hosts. */
  readonly used: readonly number[];
  readonly capacity: readonly number[];
  /** On hosts that take builds: the free amounts, and their part on hosts that the smallest flavor does not fit on. */
  readonly free: readonly number[];
  readonly stranded: readonly number[];
  readonly history: HistoryOf;
}

/** The number of further instances of a flavor that fit, summed over the hosts. */
export interface FlavorFit {
  readonly name: string;
  readonly resources: Readonly<Record<string, number>>;
  /** Required traits; other requirements of a flavor are not counted. */
  readonly traits: readonly string[];
  readonly total: number;
  readonly hosts: number;
  /** By `CapacityPage.zones`. */
  readonly byZone: readonly number[];
}

export interface ProjectRow {
  readonly projectId: string;
  readonly used: Readonly<Record<string, number>>;
  /** Its own limits, else the default's; a class without one is unlimited. */
  readonly limits: Readonly<Record<string, number>>;
  readonly cohort: string;
  /** Undefined where those who wait take turns, and while no scheduler answers. */
  readonly share: ShareRow | undefined;
}

/** A project's use of the fleet, by which its waiting requests are ordered. */
export interface ShareRow {
  readonly now: number;
  readonly lately: number;
  readonly weight: number;
  readonly rank: number;
}
