import { hostname } from 'node:os';
import { CELL_NAME, DEFAULT_CELL } from '../domain/cells/cell';
import { type ConfigOf, durationOption, enumOption, intOption, stringOption } from './config';
import { traceOptions } from './tracing';

/** Addresses of the bus and the store, and the cell of both: settings of every process. */
export const addressOptions = {
  busUrl: stringOption({
    env: 'BERTH_BUS_URL',
    default: 'memory:',
    pattern: /^(amqps?:\/\/\S+|memory:)$/,
    range: 'amqp://..., amqps://... or memory:',
    help: 'The message bus: RabbitMQ, or memory: for everything in one process. The password in it is not shown.',
    secret: true,
  }),
  storeUrl: stringOption({
    env: 'BERTH_STORE_URL',
    default: 'memory:',
    pattern:
      /^(rediss?:\/\/\S+|rediss?\+sentinel:\/\/[^\s/?]+\/[^\s/?]+(\?\S*)?|rediss?\+cluster:\/\/[^\s/?]+\/?|memory:)$/,
    range: 'redis://..., redis+sentinel://host,host/name, redis+cluster://host,host (rediss for TLS) or memory:',
    help: 'The store: Redis, or memory: for everything in one process. The password in it is not shown.',
    secret: true,
  }),
  cell: stringOption({
    env: 'BERTH_CELL',
    default: DEFAULT_CELL,
    pattern: CELL_NAME,
    range: '1 to 40 letters, digits, _ -',
    help: 'The cell, which prefixes keys of the store and queues of the broker: processes of one cell share them. Commands for the top of a fleet use top.',
  }),
} as const;

/** Common settings of all long-running processes. */
export const processOptions = {
  ...traceOptions,
  cell: addressOptions.cell,
  httpHost: stringOption({
    env: 'BERTH_HTTP_HOST',
    default: '127.0.0.1',
    help: 'The address that /healthz, /readyz and /metrics listen on; 0.0.0.0 in a container.',
  }),
  httpPort: intOption({
    env: 'BERTH_HTTP_PORT',
    default: 0,
    min: 0,
    max: 65_535,
    help: 'The port of /healthz, /readyz and /metrics; 0 takes any free one and logs it.',
  }),
  logLevel: enumOption({
    env: 'BERTH_LOG_LEVEL',
    default: 'info',
    values: ['debug', 'info', 'warn', 'error', 'silent'],
    help: 'The least important lines that are logged.',
  }),
  logFormat: enumOption({
    env: 'BERTH_LOG_FORMAT',
    default: 'auto',
    values: ['auto', 'json', 'pretty'],
    help: 'Format of log lines; auto is pretty on a terminal and JSON elsewhere.',
  }),
  processName: stringOption({
    env: 'BERTH_PROCESS_NAME',
    default: `${hostname().split('.')[0] ?? 'host'}-${process.pid}`,
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    range: 'letters, digits, . _ -',
    help: 'Name of this process in logs, metrics and leases.',
  }),
  shutdownTimeoutMs: durationOption({
    env: 'BERTH_SHUTDOWN_TIMEOUT_MS',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of work in progress when a process stops; then it is ended.',
  }),
} as const;

export type ProcessConfig = ConfigOf<typeof processOptions>;
