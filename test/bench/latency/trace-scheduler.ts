import { writeFileSync } from 'node:fs';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { RedisClient } from '#libs/redis/connect';
import { environment } from '#libs/runtime/system';
import * as many from '../../../services/scheduler/decision/as-many-as-fit';
import * as claim from '../../../services/scheduler/decision/claim';
import * as select from '../../../services/scheduler/decision/select-destinations';
import { SocketTimes, sharedNow } from './socket-times';

/** Times of one select in the scheduler, in milliseconds of the shared clock. */
export interface SchedulerTimes {
  readonly requestId: string;
  /** The socket was read that brought the request. */
  readMs: number;
  /** Its handler began. */
  begunMs: number;
  /** The last decision began, and ended. */
  decidingMs: number;
  decidedMs: number;
  /** The claim was handed to the store, and answered. */
  claimingMs: number;
  claimedMs: number;
  /** The answer was ready, and written to a socket. */
  answeredMs: number;
  writtenMs: number;
}

type RunScript = Parameters<RedisClient['runScript']>;

/** All that a traced scheduler noted. */
export interface SchedulerTrace {
  readonly selects: readonly SchedulerTimes[];
  /** Runs of the store's commit script: when they were sent, and when the socket was read that brought the reply. */
  readonly runs: readonly (readonly [sentMs: number, repliedMs: number])[];
  /** Pauses of garbage collection. */
  readonly collections: readonly (readonly [startMs: number, endMs: number])[];
}

/** The environment variable with the file that the trace is written to when the process ends. */
export const TRACE_FILE = 'BENCH_TRACE_FILE';

/*
 * Loaded with `--require` before a scheduler: it puts notes of the time around the scheduler's own functions, so that the
 * services have none of this.
 */
function trace(file: string): void {
  const sockets = new SocketTimes();
  sockets.watch();
  const selects: SchedulerTimes[] = [];
  const runs: [number, number][] = [];
  const collections: [number, number][] = [];
  const byRequest = new Map<string, SchedulerTimes>();
  let deciding: SchedulerTimes | undefined;

  patch(select, 'selectDestinations', (original) => async (...args) => {
    const { requestId } = args[0];
    const at = { decidingMs: 0, decidedMs: 0, claimingMs: 0, claimedMs: 0, answeredMs: 0, writtenMs: 0 };
    const times: SchedulerTimes = { requestId, readMs: sockets.lastReadMs, begunMs: sharedNow(), ...at };
    byRequest.set(requestId, times);
    const selected = await original(...args);
    byRequest.delete(requestId);
    times.answeredMs = sharedNow();
    sockets.onNextWrite((atMs) => {
      times.writtenMs = atMs;
      selects.push(times);
    });
    return selected;
  });
  patch(many, 'decideAsMany', (original) => (...args) => {
    deciding = byRequest.get(args[0].requestId);
    if (!deciding) return original(...args);
    deciding.decidingMs = sharedNow();
    const decision = original(...args);
    deciding.decidedMs = sharedNow();
    return decision;
  });
  // It begins in the same turn as the decision, before any other.
  patch(claim, 'claimAll', (original) => async (...args) => {
    const times = deciding;
    if (times) times.claimingMs = sharedNow();
    const claimed = await original(...args);
    if (times) times.claimedMs = sharedNow();
    return claimed;
  });
  const client: { runScript: (this: RedisClient, ...args: RunScript) => Promise<unknown> } = RedisClient.prototype;
  const { runScript } = client;
  client.runScript = async function (...args) {
    const sentMs = sharedNow();
    const reply = await runScript.apply(this, args);
    if (args[0].name === 'commit') runs.push([sentMs, sockets.lastReadMs]);
    return reply;
  };
  new PerformanceObserver((list) => {
    const offsetMs = sharedNow() - performance.now();
    for (const { startTime, duration } of list.getEntries()) {
      collections.push([offsetMs + startTime, offsetMs + startTime + duration]);
    }
  }).observe({ entryTypes: ['gc'] });
  process.once('exit', () => writeFileSync(file, JSON.stringify({ selects, runs, collections })));
}

function patch<M extends object, N extends keyof M>(module: M, name: N, around: (original: M[N]) => M[N]): void {
  module[name] = around(module[name]);
}

const file = environment()[TRACE_FILE];
if (file !== undefined) trace(file);
