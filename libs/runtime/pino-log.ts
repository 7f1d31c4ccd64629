import pino from 'pino';
import pretty from 'pino-pretty';
import { BerthError } from '../domain/errors';
import type { Log } from './log';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: 'auto' | 'json' | 'pretty';
  /** Destination of the lines. Services write to stdout; a command whose stdout is its answer writes to stderr. */
  readonly to: 'stdout' | 'stderr';
  /** Fields of every line, such as `{ service, process }`. */
  readonly fields: object;
}

/** A log on pino, used only here. Lines are written synchronously, so that none is lost at exit. */
export function createLog(settings: LogSettings): Log {
  const stream = settings.to === 'stdout' ? process.stdout : process.stderr;
  const isPretty = settings.format === 'pretty' || (settings.format === 'auto' && stream.isTTY);
  const fd = settings.to === 'stdout' ? 1 : 2;
  const options: pino.LoggerOptions = {
    level: settings.level,
    base: settings.fields,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: describeError, err: describeError },
  };
  const destination = isPretty
    ? pretty({ destination: fd, sync: true, colorize: stream.isTTY, ignore: 'pid,hostname', singleLine: true })
    : pino.destination({ dest: fd, sync: true });
  return pino(options, destination);
}

/** Expected errors log one line; only defects log their stack. */
function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  if (thrown instanceof BerthError && thrown.code !== 'internal') {
    const { code, reason, message, details } = thrown;
    return { code, reason, message, ...(Object.keys(details).length > 0 ? { details } : {}) };
  }
  return { ...pino.stdSerializers.err(thrown) };
}
