import { randomUUID } from 'node:crypto';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { freePort, type TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { printFigure } from './fleet/figures';
import { CUTS, Proxy } from './fleet/proxy';

/* A placement API cut off from its store, and its clients from it, in the middle of claims and releases. */

const CLIENTS = 4;
const CLIENT_TIMEOUT_MS = 1_000;
const STORE_TIMEOUT_MS = 500;
/** The longer of the two, and a slow machine. */
const NOTICE_MS = CLIENT_TIMEOUT_MS + 4_000;

const clock = systemClock();
const provider = randomUUID();
let redis: TestServer;
let api: Child;
let toStore: Proxy;
let toApi: Proxy;
beforeAll(async () => {
  redis = await startRedis({ appendOnly: true });
  const port = await freePort();
  [toStore, toApi] = await Promise.all([Proxy.to(redis.port), Proxy.to(port)]);
  api = startChild('services/cli/main.ts', ['placement-api'], {
    BERTH_STORE_URL: `redis://127.0.0.1:${toStore.port}`,
    BERTH_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
    BERTH_PLACEMENT_PORT: String(port),
    BERTH_LOG_FORMAT: 'json',
  });
  await api.says('"running"');
  await ask('POST', '/resource_providers', { uuid: provider, name: 'pool' });
  const inventories = { VCPU: { total: 100_000 } };
  await ask('PUT', `/resource_providers/${provider}/inventories`, { resource_provider_generation: 0, inventories });
});
afterAll(async () => {
  api?.process.kill('SIGKILL');
  for (const proxy of [toStore, toApi]) proxy?.close();
  await redis?.stop();
});

async function ask(method: string, path: string, body?: object) {
  const answer = await fetch(`http://127.0.0.1:${toApi.port}${path}`, {
    method,
    headers: { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.38', 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS),
  });
  return { status: answer.status, body: answer.status === 204 ? {} : ((await answer.json()) as object) };
}

/** Paths of the provider's allocations, asked for until they are told: a connection to the store may still be half-open. */
async function allocated(): Promise<readonly string[]> {
  for (;;) {
    const answer = await ask('GET', `/resource_providers/${provider}/allocations`).catch(() => undefined);
    if (answer?.status !== 200) continue;
    return Object.keys((answer.body as { allocations: object }).allocations).map((uuid) => `/allocations/${uuid}`);
  }
}

/** Clients that claim, and give every other claim back, each until it is told; until they are stopped. */
class Clients {
  readonly claimed = new Set<string>();
  told = 0;
  failed = 0;
  #isStopped = false;
  readonly #work = Promise.all(Array.from({ length: CLIENTS }, () => this.#workOn()));

  /** Resolves once a condition holds of them; fails when one of them got an answer that it must not get. */
  async until(condition: () => boolean): Promise<void> {
    const holds = async () => {
      while (!condition()) await sleep(clock, 10);
    };
    await Promise.race([holds(), this.#work]);
  }

  stop(): Promise<unknown> {
    this.#isStopped = true;
    return this.#work;
  }

  async #workOn(): Promise<void> {
    for (let n = 0; !this.#isStopped; n++) {
      const path = `/allocations/${randomUUID()}`;
      const allocations = { [provider]: { resources: { VCPU: 1 } } };
      const owner = { project_id: 'p', user_id: 'u', consumer_type: 'INSTANCE', consumer_generation: null };
      // One that was done, and of which the answer was lost, is refused the second time: the consumer is there.
      const failures = await this.#untilTold('PUT', path, [204, 409], { allocations, ...owner });
      this.claimed.add(path);
      // A try that failed may still arrive, behind the release.
      if (n % 2 === 0 || failures > 0) continue;
      await this.#untilTold('DELETE', path, [204, 404]);
      this.claimed.delete(path);
    }
  }

  /** Resolves with the number of tries that failed. */
  async #untilTold(method: string, path: string, statuses: readonly number[], body?: object): Promise<number> {
    for (let failures = 0; ; failures++) {
      const answer = await ask(method, path, body).catch(() => undefined);
      if (answer !== undefined && statuses.includes(answer.status)) {
        this.told++;
        return failures;
      }
      if (answer !== undefined && answer.status !== 503)
        throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
      this.failed++;
      await sleep(clock, 20);
    }
  }
}

const CASES = CUTS.flatMap((cut) => [
  { between: 'the placement API and its store', proxy: () => toStore, cut },
  { between: 'clients and the placement API', proxy: () => toApi, cut },
]);

it.each(CASES)('$between, $cut: what is told is true, and nothing else is left', async ({ between, proxy, cut }) => {
  const clients = new Clients();
  await clients.until(() => clients.told > 50);
  const cutAtMs = clock.elapsed();
  const failedBefore = clients.failed;
  const toldBefore = clients.told;
  proxy().cut(cut);
  await clients.until(() => (cut === 'delay' ? clients.told - toldBefore : clients.failed - failedBefore) >= CLIENTS);
  const noticedMs = clock.elapsed() - cutAtMs;
  proxy().heal();
  const healedAtMs = clock.elapsed();
  const toldAtHealing = clients.told;
  await clients.until(() => clients.told > toldAtHealing + 50);
  const right = clock.elapsed() - healedAtMs;
  await clients.stop();
  printFigure(`${cut} between ${between}`, cut === 'delay' ? { right } : { noticed: noticedMs, right });

  const there = await allocated();
  const before = claimedBefore.splice(0);
  claimedBefore.push(...there);
  expect(there.filter((path) => !before.includes(path)).sort()).toEqual([...clients.claimed].sort());
  expect(noticedMs).toBeLessThan(cut === 'delay' ? Infinity : NOTICE_MS);
});

/** By the clients of earlier cases. */
const claimedBefore: string[] = [];
