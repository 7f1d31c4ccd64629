import { randomUUID } from 'node:crypto';
import type { Allocations } from '#libs/domain/consumer';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startRedis } from '#libs/testing/servers/servers';
import { type ApiProcess, startApi } from './api-process';
import { type Bench, type BenchContext, measureRate, type Results, rateResults, round } from './harness';
import { type HttpAnswer, HttpConnection, httpRequest } from './http-client';
import { PLACEMENT_8 } from './peers';
import {
  AGGREGATE,
  DEVICE,
  DEVICES,
  fillFlat,
  fillNested,
  measureClaims,
  type PlacementFleet,
  TRAIT,
} from './placement-fleet';
import { rawHttpRate } from './raw-http';

const CLIENTS = [1, 4, 8];
const TREES = 1_000;
const RESOURCES = 'resources=VCPU:1,MEMORY_MB:64,DISK_GB:1';
const HEADERS = { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.39', accept: 'application/json' };
const JSON_HEADERS = { ...HEADERS, 'content-type': 'application/json' };
const clock = systemClock();

/** The throughput of the placement API: one process on a private Redis, called by minimal clients. */
export const placementBench: Bench = {
  name: 'placement',
  purpose: 'the placement API at fleets of several sizes, beside raw HTTP, raw claims, and OpenStack Placement',
  flags: {
    providers: '1000,10000,100000, sizes of flat fleets',
    trees: 'true; 0 leaves the nested fleet out',
    only: 'NAME, of one operation',
    seconds: '2, of each measurement',
    fsync: 'always, of Redis; or everysec, no',
  },
  async run(context) {
    const sizes = (context.flags['providers'] ?? '1000,10000,100000').split(',').map(Number);
    const results: Record<string, number | string> = {};
    for (const size of sizes) {
      Object.assign(results, await onFleet((store) => fillFlat(store, size), context));
    }
    if (context.flags['trees'] !== '0') {
      Object.assign(results, await onFleet((store) => fillNested(store, TREES), context));
    }
    Object.assign(results, await rawHttp(results, context));
    return { ...results, ...ratiosToCeilings(results), ...ratiosToPlacement(results), ...flatness(results, sizes) };
  },
};

/** One operation of a client, on a connection of its own. */
type Operation = (connection: HttpConnection, n: number) => Promise<HttpAnswer>;

function operationsOn({ claims }: PlacementFleet): Readonly<Record<string, Operation>> {
  const get = (query: string): Operation => {
    const request = httpRequest('GET', `/allocation_candidates?${query}`, HEADERS);
    return (connection) => connection.send(request);
  };
  const first10 = get(`${RESOURCES}&limit=10`);
  return {
    candidates_10: first10,
    candidates_1000: get(`${RESOURCES}&limit=1000`),
    candidates_trait: get(`${RESOURCES}&required=${TRAIT}&member_of=${AGGREGATE}&limit=10`),
    claim: (connection, n) => connection.send(claimRequest(claims[n % claims.length] as Allocations)),
    async cycle(connection, n) {
      const { body } = await first10(connection, n);
      const { allocation_requests: found } = JSON.parse(body.toString()) as Candidates;
      for (const candidate of found) {
        const answer = await connection.send(putRequest(candidate));
        // Another client claimed the last of it meanwhile.
        if (answer.status !== 409) return answer;
      }
      throw new Error('no candidate could be claimed: the fleet is too small for this benchmark');
    },
  };
}

interface Candidates {
  readonly allocation_requests: readonly object[];
}

function claimRequest(allocations: Allocations): string {
  const asked = Object.entries(allocations).map(([uuid, resources]) => [uuid, { resources }]);
  return putRequest({ allocations: Object.fromEntries(asked) as object });
}

function putRequest(allocationRequest: object): string {
  const who = { project_id: 'bench', user_id: 'bench', consumer_generation: null, consumer_type: 'INSTANCE' };
  const body = JSON.stringify({ ...allocationRequest, ...who });
  return httpRequest('PUT', `/allocations/${randomUUID()}`, JSON_HEADERS, body);
}

async function onFleet(
  fill: (store: PlacementStore) => Promise<PlacementFleet>,
  { flags, ...context }: BenchContext,
): Promise<Results> {
  const seconds = Number(flags['seconds'] ?? 2);
  const redis = await startRedis({ appendOnly: true, appendfsync: flags['fsync'] ?? 'always' });
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const store = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: redis.url }), around);
  const results: Record<string, number | string> = {};
  let api: ApiProcess | undefined;
  try {
    const startedMs = performance.now();
    const fleet = await fill(store);
    context.note(`${fleet.name}: filled in ${round((performance.now() - startedMs) / 1_000)} s`);
    const claims = await measureClaims(store, fleet.claims, seconds);
    context.note(`${fleet.name}_claim_script: ${claims.perSecond}/s from one client`);
    Object.assign(results, rateResults(`${fleet.name}_claim_script`, claims));
    api = await startApi(redis.url);
    for (const [name, operation] of Object.entries(operationsOn(fleet))) {
      if (flags['only'] !== undefined && flags['only'] !== name) continue;
      // Warms up the code of this operation.
      const { bodyBytes } = await measure(api, operation, { clients: Math.max(...CLIENTS), seconds: 1 });
      results[`${fleet.name}_${name}_bytes`] = roundedBytes(bodyBytes);
      for (const clients of CLIENTS) {
        const key = `${fleet.name}_${name}_c${clients}`;
        const measured = await measure(api, operation, { clients, seconds });
        context.note(`${key}: ${measured.rate.perSecond}/s, ${measured.cpuUs} us of the server's processor time each`);
        Object.assign(results, rateResults(key, measured.rate), { [`${key}_cpu_us`]: measured.cpuUs });
      }
    }
    if (fleet.name.startsWith('nested')) Object.assign(results, await groupsOfDevices(api, seconds));
    return results;
  } finally {
    await api?.stop();
    await store.close();
    await redis.stop();
  }
}

interface Load {
  readonly clients: number;
  readonly seconds: number;
}

/** The rate of an operation, its processor time on the server (warm-up included), and the size of its last answer. */
async function measure(api: ApiProcess, operation: Operation, { clients, seconds }: Load) {
  const idle = await Promise.all(Array.from({ length: clients }, () => HttpConnection.open(api.port)));
  const all = [...idle];
  let [count, bodyBytes] = [0, 0];
  const cpuBefore = await api.cpuSeconds();
  const rate = await measureRate(
    async (n) => {
      const connection = idle.pop() as HttpConnection;
      const { status, body } = await operation(connection, n);
      if (status >= 300) throw new Error(`the API answered ${status}: ${body.toString()}`);
      bodyBytes = body.length;
      count++;
      idle.push(connection);
    },
    { inFlight: clients, seconds },
  );
  const cpuUs = round((((await api.cpuSeconds()) - cpuBefore) * 1e6) / count);
  for (const connection of all) connection.close();
  return { rate, cpuUs, bodyBytes };
}

/** Eight request groups for eight devices: each assignment of groups to devices is a candidate. */
async function groupsOfDevices(api: ApiProcess, seconds: number): Promise<Results> {
  const groups = Array.from({ length: DEVICES }, (_, n) => `resources_${n}=${DEVICE}:1`).join('&');
  const results: Record<string, number | string> = {};
  for (const policy of ['none', 'isolate']) {
    for (const limit of [1, 1_000]) {
      const path = `/allocation_candidates?${groups}&group_policy=${policy}&limit=${limit}`;
      const request = httpRequest('GET', path, HEADERS);
      const { rate } = await measure(api, (connection) => connection.send(request), { clients: 1, seconds });
      Object.assign(results, rateResults(`groups_8x8_${policy}_${limit}`, rate));
    }
  }
  return results;
}

/** The rates of a bare HTTP server with bodies of the same sizes. */
async function rawHttp(
  measured: Results,
  { flags, ...context }: BenchContext,
): Promise<Record<string, number | string>> {
  const results: Record<string, number | string> = {};
  const sizes = Object.entries(measured).flatMap(([key, value]) => (key.endsWith('_bytes') ? [Number(value)] : []));
  for (const bodyBytes of new Set(sizes)) {
    for (const clients of CLIENTS) {
      const rate = await rawHttpRate({ bodyBytes, clients, seconds: Number(flags['seconds'] ?? 2) });
      context.note(`${rawKey(bodyBytes, clients)}: ${rate.perSecond}/s`);
      Object.assign(results, rateResults(rawKey(bodyBytes, clients), rate));
    }
  }
  return results;
}

function rawKey(bodyBytes: number | string | undefined, clients: number | string | undefined): string {
  return `raw_http_${bodyBytes}_bytes_c${clients}`;
}

/** Rounded to one digit, so that sizes are equal for all fleets of a kind. */
function roundedBytes(bytes: number): number {
  return Number(bytes.toPrecision(1));
}

/** The ratio of each rate to that of bare HTTP, and of claims to that of the script. */
function ratiosToCeilings(results: Results): Results {
  const ratios: Record<string, number> = {};
  const ratio = (key: string, own: number | string, ceiling: number | string | undefined) => {
    if (ceiling !== undefined) ratios[key] = round(Number(own) / Number(ceiling));
  };
  for (const [key, value] of Object.entries(results)) {
    const [, operation = '', clients] = /^((?:flat|nested)_.*)_c(\d)_per_s$/.exec(key) ?? [];
    const bytes = results[`${operation}_bytes`];
    if (!operation.endsWith('_cycle'))
      ratio(`${operation}_c${clients}_http_ratio`, value, results[`${rawKey(bytes, clients)}_per_s`]);
    if (operation.endsWith('_claim'))
      ratio(`${operation}_c${clients}_script_ratio`, value, results[`${operation}_script_per_s`]);
  }
  return ratios;
}

/** The ratio of each rate to OpenStack Placement's, if measured. */
function ratiosToPlacement(results: Results): Results {
  const times = Object.entries(PLACEMENT_8).flatMap(([key, peer]) => {
    const own = results[`${key}_per_s`];
    return own === undefined ? [] : [[`${key}_times_placement`, round(Number(own) / peer)] as const];
  });
  return Object.fromEntries(times);
}

/** The server's processor time for ten candidates on the largest fleet, relative to the smallest. */
function flatness(results: Results, sizes: readonly number[]): Results {
  const cost = (size: number | undefined) => Number(results[`flat_${size}_candidates_10_c1_cpu_us`]);
  const factor = round(cost(sizes.at(-1)) / cost(sizes[0]));
  return Number.isNaN(factor) ? {} : { candidates_10_cost_largest_over_smallest: factor };
}
