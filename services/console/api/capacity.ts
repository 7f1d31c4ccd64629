import type { HistoryOf } from './history';

/** What the page of capacity shows. Hosts that are down or disabled have no room. */
export interface CapacityPage {
  readonly classes: readonly string[];
  readonly zones: readonly ZoneCapacity[];
  readonly flavors: readonly FlavorFit[];
  readonly projects: readonly ProjectRow[];
  /** The smallest flavor, by which room is counted as stranded; '' when there is no flavor. */
  readonly smallest: string;
}

export interface ZoneCapacity {
  readonly zone: string;
  readonly hosts: number;
  /** Hosts that take builds. */
  readonly open: number;
  /** By `CapacityPage.classes`, of all hosts. */
  readonly used: readonly number[];
  readonly capacity: readonly number[];
  /** Of hosts that take builds: what is free, and of that, what is on hosts that the smallest flavor does not fit on. */
  readonly free: readonly number[];
  readonly stranded: readonly number[];
  readonly history: HistoryOf;
}

/** How many more of a flavor find room, host by host. */
export interface FlavorFit {
  readonly name: string;
  readonly resources: Readonly<Record<string, number>>;
  /** Traits that were asked for; other wishes of a flavor are not counted. */
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
}
