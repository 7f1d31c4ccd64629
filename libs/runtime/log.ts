/** Structured logging as services see it; `runtime/pino-log` makes one. Fields first, then a sentence. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /**
   * True when lines of the level are written; where there are thousands a second, even building their fields is costly.
   */
  isLevelEnabled(level: 'debug'): boolean;
  /** The same log with fields in every line: `{ service, request_id, instance_uuid, host }`. */
  child(fields: object): Log;
}

/** Discards all lines; for tests and the demo. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
  child: () => silentLog,
};
