/** In what a controller differs from the standard's plain reading, one switch each. All are off unless given. */
export interface ControllerQuirks {
  /** `BootProgress` is absent, or `OSRunning` whenever the power is on. */
  readonly bootProgress?: 'absent' | 'running';
  /** The boot device is accepted, and the disk boots: the override stays as it was, or is not even shown. */
  readonly bootDevice?: 'ignored' | 'dropped';
  /** `If-Match` is demanded (428), ETags are weak and match only without `W/`, or match nothing but `*`. */
  readonly etags?: 'required' | 'weak' | 'never';
  readonly refusesContinuous?: boolean;
  /** `Boot` can be written at the settings resource only. */
  readonly settingsResource?: boolean;
  readonly modeRequired?: boolean;
  readonly dropsAssetTag?: boolean;
  /** Each path without a slash at its end leads to that with one (308). */
  readonly redirects?: boolean;
  /** Sessions that a service has at most. */
  readonly maxSessions?: number;
  readonly noSessionService?: boolean;
  readonly noContext?: boolean;
  /** A session that has ended is answered with a page, and not with JSON. */
  readonly htmlErrors?: boolean;
  /** Each so-and-so-many-th answer is 503, with `Retry-After`. */
  readonly busyEach?: number;
  /** Each so-and-so-many-th connection is cut. */
  readonly cutEach?: number;
  /** Switching off takes this long, `PoweringOff` meanwhile; further orders are answered 409. */
  readonly slowOffMs?: number;
  /** Switching on takes this long, and the power is shown as off until then. */
  readonly slowOnMs?: number;
  /** Orders are tasks (202), done at the second look. */
  readonly tasks?: boolean;
  /** Reset types are told by an ActionInfo only. */
  readonly actionInfo?: boolean;
  /** Nodes whose systems answer 500. */
  readonly broken?: readonly string[];
}
