/** Deviations of a controller from the standard's plain reading, one switch each, all off by default. */
export interface ControllerQuirks {
  /** `BootProgress` is absent, or `OSRunning` whenever the power is on. */
  readonly bootProgress?: 'absent' | 'running';
  /** The boot device is accepted, and the disk boots: the override stays unchanged, or is not even shown. */
  readonly bootDevice?: 'ignored' | 'dropped';
  /** `If-Match` is required (428), ETags are weak and match only without `W/`, or match nothing but `*`. */
  readonly etags?: 'required' | 'weak' | 'never';
  readonly refusesContinuous?: boolean;
  /** `Boot` can only be written at the settings resource. */
  readonly settingsResource?: boolean;
  readonly modeRequired?: boolean;
  readonly dropsAssetTag?: boolean;
  /** Each path without a trailing slash redirects to the one with it (308). */
  readonly redirects?: boolean;
  /** Limit of a service's sessions. */
  readonly maxSessions?: number;
  readonly noSessionService?: boolean;
  readonly noContext?: boolean;
  /** An ended session is answered with a page instead of JSON. */
  readonly htmlErrors?: boolean;
  /** Every n-th answer is 503, with `Retry-After`. */
  readonly busyEach?: number;
  /** Every n-th connection is cut. */
  readonly cutEach?: number;
  /** Duration of a power-off, with `PoweringOff` meanwhile; further orders are answered 409. */
  readonly slowOffMs?: number;
  /** Duration of a power-on; the power is shown as off until then. */
  readonly slowOnMs?: number;
  /** Orders are tasks (202), done at the second poll. */
  readonly tasks?: boolean;
  /** After so many orders another machine answers at the system's path, and all sessions live on. */
  readonly replacedAfter?: number;
  /** Only an ActionInfo lists the reset types. */
  readonly actionInfo?: boolean;
  /** Nodes whose systems answer 500. */
  readonly broken?: readonly string[];
}
