import { type ConfigOf, durationOption, intOption } from '../runtime/config';
import { addressOptions } from '../runtime/options';

/** Settings of the bus. Its address, `BERTH_BUS_URL`, stands among the addresses (`runtime/options`). */
export const busOptions = {
  cell: addressOptions.cell,
  prefetch: intOption({
    env: 'BERTH_BUS_PREFETCH',
    default: 64,
    min: 1,
    max: 10_000,
    unit: 'messages',
    help: 'Messages that one consumer handles at once, unless the service has its own limit.',
  }),
  publishWindow: intOption({
    env: 'BERTH_BUS_PUBLISH_WINDOW',
    default: 1_000,
    min: 1,
    max: 100_000,
    unit: 'messages',
    help: 'Published messages that the broker has not confirmed yet; more wait in the process.',
  }),
  maxWaiting: intOption({
    env: 'BERTH_BUS_MAX_WAITING',
    default: 100_000,
    min: 1,
    max: 10_000_000,
    unit: 'messages',
    help: 'Messages that wait in the process until the publish window has room; above it they are refused.',
  }),
  maxMessageBytes: intOption({
    env: 'BERTH_BUS_MAX_MESSAGE_BYTES',
    default: 4_194_304,
    min: 1_024,
    max: 134_217_728,
    unit: 'bytes',
    help: 'The largest body of a message; larger ones are refused by their sender.',
  }),
  maxPostponedMs: durationOption({
    env: 'BERTH_BUS_MAX_POSTPONED_MS',
    default: 86_400_000,
    min: 1_000,
    max: 2_592_000_000,
    help: 'Time limit of postponing a message to the end of its queue; then it is refused or dead-lettered.',
  }),
  confirmTimeoutMs: durationOption({
    env: 'BERTH_BUS_CONFIRM_TIMEOUT_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of the confirm of a cast, its wait in the process included.',
  }),
  connectTimeoutMs: durationOption({
    env: 'BERTH_BUS_CONNECT_TIMEOUT_MS',
    default: 30_000,
    min: 100,
    max: 3_600_000,
    help: 'Time limit of connecting to the broker at the start of a process; for berth up, to the store, too.',
  }),
  reconnectDelayMs: durationOption({
    env: 'BERTH_BUS_RECONNECT_DELAY_MS',
    default: 3_000,
    min: 10,
    max: 600_000,
    help: 'The longest pause between two attempts to reach a broker that is away; the first is 50 ms, the next twice that.',
  }),
  heartbeatS: intOption({
    env: 'BERTH_BUS_HEARTBEAT_S',
    default: 10,
    min: 1,
    max: 3_600,
    unit: 's',
    help: 'Heartbeat interval; after two missed ones a connection counts as dead. A heartbeat in the URL takes precedence.',
  }),
  drainTimeoutMs: durationOption({
    env: 'BERTH_BUS_DRAIN_TIMEOUT_MS',
    default: 20_000,
    min: 0,
    max: 600_000,
    help: 'Time limit of running handlers when the bus closes; unfinished messages go to another process.',
  }),
} as const;

export type BusConfig = ConfigOf<typeof busOptions>;
