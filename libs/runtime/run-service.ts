import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { ConfigsOf, Tables } from './config';
import { EXIT, exitCodeOf } from './exit-codes';
import { serveOperations } from './http';
import type { Log } from './log';
import { createMetrics } from './metrics';
import type { ProcessConfig } from './options';
import { createLog } from './pino-log';
import type { Running, RuntimeDeps } from './service';
import { systemClock, systemRandom } from './system';
import { startTracing } from './tracing';

/** The dependencies of a starting service, and `open`, which closes at shutdown what it opened. */
export interface Opening extends RuntimeDeps {
  readonly processName: string;
  /** The service's own, once it runs; not ready before. */
  readonly readiness: Running['readiness'];
  /** Awaits the opening of a resource, and closes it at shutdown: last opened, first closed. */
  readonly open: <T extends { close(): Promise<void> }>(what: string, thing: T | Promise<T>) => Promise<T>;
}

/** A service as a process of its own: `berth <name>`. */
export interface ServiceProcess<T extends Tables = Tables> {
  readonly name: string;
  /** Prefix of its own settings, `BERTH_SCHEDULER_`. */
  readonly prefix: string;
  /** All settings of the service, besides `processOptions`. */
  readonly tables: T;
  /** True for a service that works without a bus. */
  readonly isBusOptional?: boolean;
  /** Opens the service's dependencies, in order, and starts it. */
  start(config: ConfigsOf<T>, opening: Opening): Promise<Running>;
}

const READY_POLL_MS = 50;

interface Opened {
  readonly what: string;
  close(): Promise<void>;
}

/**
 * Runs one service as this process, from its first log line to its exit code.
 *
 * Opens the operations endpoint, then the resources of `start`, in order; closes in reverse on SIGTERM or SIGINT,
 * within `shutdownTimeoutMs`. A second signal ends the process at once. A failed start logs one line with the remedy,
 * sets an exit code (`exit-codes`), and leaves nothing open. An unhandled rejection is a defect: it is logged and ends
 * the process, since a crash is safe here (messages are redelivered) and a half-working process is not.
 */
export async function runService(
  name: string,
  config: ProcessConfig,
  start: (opening: Opening) => Promise<Running>,
): Promise<never> {
  const fields = { service: name, cell: config.cell, process: config.processName };
  const log = createLog({ level: config.logLevel, format: config.logFormat, to: 'stdout', fields });
  const metrics = createMetrics(fields, true);
  const clock = systemClock();
  const opened: Opened[] = [];
  let readiness: Running['readiness'] = () => ({ ready: false, reason: 'starting' });
  const opening: Opening = {
    processName: config.processName,
    readiness: () => readiness(),
    log,
    metrics,
    clock,
    random: systemRandom,
    async open(what, thing) {
      const ready = await thing;
      opened.push({ what, close: () => ready.close() });
      log.debug({ what }, 'opened');
      return ready;
    },
  };
  exitOnDefect(log);
  const stop = stopSignal(log);
  let documents: Running['documents'] = {};

  const closeAll = async (exitCode: number): Promise<never> => {
    readiness = () => ({ ready: false, reason: 'stopping' });
    const within = sleep(clock, config.shutdownTimeoutMs).then(() => 'late' as const);
    const outcome = await Promise.race([closeInReverse(opened, log), within]);
    if (outcome === 'late') {
      log.error({ shutdownTimeoutMs: config.shutdownTimeoutMs }, 'did not stop in time; ends now');
      process.exit(EXIT.failed);
    }
    // After a failed start the line "cannot start" is the last one.
    if (exitCode === EXIT.ok) log.info({ outcome }, 'stopped');
    process.exit(outcome === 'clean' ? exitCode : EXIT.failed);
  };

  try {
    const who = { service: `berth-${name}`, instance: config.processName, log };
    await opening.open('tracing', startTracing(config, who));
    const { httpHost: host, httpPort: port } = config;
    const document = (path: string) => (Object.hasOwn(documents ?? {}, path) ? documents?.[path]?.() : undefined);
    const operations = serveOperations({ host, port, metrics, readiness: () => readiness(), document });
    const { url } = await opening.open('operations endpoint', operations);
    // A signal during the start must not wait for an absent broker.
    const running = await Promise.race([start(opening), stop.then(() => 'stopped' as const)]);
    if (running === 'stopped') return await closeAll(EXIT.ok);
    await opening.open(name, running);
    readiness = () => running.readiness();
    documents = running.documents;
    log.info({ url, pid: process.pid }, 'running');
    void tellParent(running, clock);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    log.error({ error }, `cannot start: ${error.message}`);
    return await closeAll(exitCodeOf(error));
  }
  log.info({ signal: await stop }, 'stopping: takes no more work, finishes what it has');
  return await closeAll(EXIT.ok);
}

/** Sends a parent with an IPC channel (`berth up`) one message, once this process can work. */
async function tellParent(running: Running, clock: Clock): Promise<void> {
  if (process.send === undefined) return;
  while (!running.readiness().ready) await sleep(clock, READY_POLL_MS);
  if (process.connected) process.send('ready');
}

async function closeInReverse(opened: readonly Opened[], log: Log): Promise<'clean' | 'unclean'> {
  let outcome: 'clean' | 'unclean' = 'clean';
  for (const thing of opened.toReversed()) {
    try {
      await thing.close();
      log.debug({ what: thing.what }, 'closed');
    } catch (error) {
      outcome = 'unclean';
      log.error({ error, what: thing.what }, 'resource not closed');
    }
  }
  return outcome;
}

/** The first SIGTERM or SIGINT. A second one ends the process at once. */
function stopSignal(log: Log): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (isStopping) {
        log.warn({ signal }, 'signalled again; ends now');
        process.exit(signal === 'SIGINT' ? EXIT.interrupted : EXIT.failed);
      }
      isStopping = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // A parent with an IPC channel (`berth up`) stops this process when it dies.
    process.on('disconnect', () => isStopping || onSignal('SIGTERM'));
  });
}

function exitOnDefect(log: Log): void {
  const onDefect = (thrown: unknown) => {
    log.error({ error: BerthError.from(thrown) }, 'unhandled error, a defect: the process ends');
    process.exit(EXIT.internal);
  };
  process.on('unhandledRejection', onDefect);
  process.on('uncaughtException', onDefect);
}
