import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { endBerth, isReady, metricsAt, startBerth, sumOf } from './berth-process';

const START_TIMEOUT_MS = 120_000;
const clock = systemClock();

/** `berth placement-api` in a process of its own. */
export interface ApiProcess {
  readonly port: number;
  /** Processor time used so far, in seconds. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the API on a store, without authentication; resolves when its mirror is complete and it listens. */
export async function startApi(storeUrl: string, cell?: string): Promise<ApiProcess> {
  const [port, operationsPort] = await Promise.all([freePort(), freePort()]);
  const child = startBerth('placement-api', {
    BERTH_STORE_URL: storeUrl,
    ...(cell !== undefined && { BERTH_CELL: cell }),
    BERTH_PLACEMENT_PORT: String(port),
    BERTH_PLACEMENT_AUTH: 'noauth',
    BERTH_HTTP_PORT: String(operationsPort),
  });
  for (const untilMs = clock.now() + START_TIMEOUT_MS; !(await isReady(operationsPort)); await sleep(clock, 50)) {
    if (child.exitCode === null && clock.now() < untilMs) continue;
    await endBerth(child, 'SIGKILL');
    throw new Error('the placement API did not start');
  }
  return {
    port,
    async cpuSeconds() {
      return sumOf(await metricsAt(`127.0.0.1:${operationsPort}`), 'process_cpu_seconds_total');
    },
    // By SIGTERM, so that a requested profile is written.
    stop: () => endBerth(child, 'SIGTERM'),
  };
}
