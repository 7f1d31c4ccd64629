import { seededRandom } from '#libs/domain/random';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { type Log, silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { NO_BUILDS } from '../builds/lazy-client';
import { placementApiOptions } from '../options';
import { startPlacementApi } from '../start';
import { type Client, openClient } from './client';

/** The service in this process, on an empty store, and a client of it. */
export interface Api extends Client {
  readonly url: string;
  /** The clock of the service; it stands still. */
  readonly clock: FakeClock;
  readonly mirror: Mirror;
  /** A new uuid, reproducible in each run. */
  uuid(): string;
  /** Closes the store, too. */
  close(): Promise<void>;
}

/** `env` overrides default settings. */
export async function openApi(
  store: PlacementStore,
  env: Readonly<Record<string, string>> = {},
  log: Log = silentLog,
): Promise<Api> {
  const clock = fakeClock();
  const config = readConfig(placementApiOptions, {
    BERTH_PLACEMENT_MAX_KEPT_CANDIDATES: '1000',
    ...env,
    BERTH_PLACEMENT_PORT: '0',
  });
  const mirror = await Mirror.open(store, { clock, random: seededRandom(1), log });
  const metrics = createMetrics({});
  const running = await startPlacementApi({
    placement: store,
    mirror,
    builds: NO_BUILDS,
    config,
    clock,
    log,
    metrics,
    random: seededRandom(1),
  });
  const client = openClient(running.url);
  const names = seededRandom(2);
  return {
    ...client,
    url: running.url,
    clock,
    mirror,
    uuid: () => names.uuid(),
    async close() {
      client.close();
      await running.close();
      await mirror.close();
      await store.close();
    },
  };
}
