import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import type { Allocations } from '#libs/domain/consumer';
import type { ServerGroup } from '#libs/domain/server-group';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { Command, ConsumerWrite, PlacementStore } from '#libs/placement/port/placement-store';
import { open, sealer } from '#libs/placement/sealed/allocation-request';
import { referenceTo } from '#libs/placement/sealed/reference';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { startRedis } from '#libs/testing/servers/servers';
import { type Bench, measureRate, type Results, round } from './harness';
import { fillFlat } from './placement-fleet';

const IN_FLIGHT = 64;
const GROUPS = 1_000;
const RACKS = Array.from({ length: 16 }, (_, n) => `rack-${n}`);
const LIMITED = 'limited';
const NO_LIMIT_IN_REACH = 1_000_000_000;
const KEY = 'the key of this benchmark';
const clock = systemClock();

/** One kind of claim: the fields of its write besides allocations, and whether quotas apply. */
interface Variant {
  readonly write: (n: number, host: string) => Partial<ConsumerWrite>;
  readonly withinQuota: boolean;
}

const soft: Omit<ServerGroup, 'id'> = { policy: 'soft-anti-affinity', maxPerHost: 1 };
const grouped = (n: number, host: string) => ({ group: { group: { ...soft, id: `g${n % GROUPS}` }, host } });
const spread = (n: number, host: string) => ({
  group: {
    group: { ...soft, id: `s${n % GROUPS}`, spread: { by: 'rack', maxSkew: NO_LIMIT_IN_REACH } },
    host,
    spread: { domain: RACKS[n % RACKS.length] as string, among: RACKS },
  },
});

const VARIANTS: Readonly<Record<string, Variant>> = {
  plain: { write: () => ({}), withinQuota: false },
  no_limit: { write: () => ({}), withinQuota: true },
  quota: { write: () => ({ projectId: LIMITED }), withinQuota: true },
  group: { write: grouped, withinQuota: false },
  spread: { write: spread, withinQuota: false },
  quota_and_spread: { write: (n, host) => ({ ...spread(n, host), projectId: LIMITED }), withinQuota: true },
};

/**
 * The cost that quotas, groups and spread add to a claim, and the cost of sealed allocation requests compared with
 * those by reference, leased and reserved: holding two alternates, and ending that. Redis' own processor time for each
 * is shown beside the rates: it is the same on a busy machine.
 */
export const claimsBench: Bench = {
  name: 'claims',
  purpose: 'claims with quotas, groups and spread, beside plain ones; allocation requests sealed and by reference',
  flags: {
    providers: '1000',
    seconds: '2, of each measurement',
    rounds: '3, in turn; of each the median',
    fsync: 'no, of Redis; or everysec, always',
  },
  async run(context) {
    const { flags } = context;
    const seconds = Number(flags['seconds'] ?? 2);
    const server = await startRedis({ appendOnly: true, appendfsync: flags['fsync'] ?? 'no' });
    const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
    const store = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: server.url }), around);
    // Claims are decided on a mirror, as a scheduler's are.
    const mirror = await Mirror.open(store, around);
    const redis = new Redis(server.url);
    try {
      const { claims } = await fillFlat(store, Number(flags['providers'] ?? 1_000));
      await limit(store);
      const measured = new Map<string, { readonly perSecond: number; readonly cpuUs: number }[]>();
      for (let n = 0; n < Number(flags['rounds'] ?? 3); n++) {
        for (const [name, operation] of operations(store, claims)) {
          const one = await withProcessorTime(redis, operation, seconds);
          context.note(`${name}: ${one.perSecond}/s, ${one.cpuUs} us of Redis' processor time each`);
          measured.set(name, [...(measured.get(name) ?? []), one]);
        }
      }
      return { ...summary(measured), ...sizes(claims[0] as Allocations) };
    } finally {
      redis.disconnect();
      await mirror.close();
      await store.close();
      await server.stop();
    }
  },
};

async function limit(store: PlacementStore): Promise<void> {
  const limits = { VCPU: NO_LIMIT_IN_REACH, MEMORY_MB: NO_LIMIT_IN_REACH, instances: NO_LIMIT_IN_REACH };
  const nothing = { version: 0, borrowLimits: {}, cohort: undefined, unset: [] };
  await committed(store, { kind: 'write_quota', atMs: clock.now(), projectId: LIMITED, limits, ...nothing });
}

function operations(
  store: PlacementStore,
  claims: readonly Allocations[],
): [string, (n: number) => Promise<unknown>][] {
  const claim = ({ write, withinQuota }: Variant) => {
    return (n: number) => {
      const who = { projectId: 'bench', userId: 'bench', consumerType: 'INSTANCE', owner: 'conductor' } as const;
      const at = n % claims.length;
      const allocations = claims[at] as Allocations;
      const own = write(n, `host-${at}`);
      const expect = { kind: 'absent' } as const;
      const consumer = { uuid: randomUUID(), ...who, allocations, mappings: {}, expect, ...own };
      return committed(store, { kind: 'write_allocations', atMs: clock.now(), withinQuota, consumers: [consumer] });
    };
  };
  const sealed = sealedFor(claims[0] as Allocations);
  const keep = () => {
    const two = [1, 2].map(() => ({ id: randomUUID(), sealed }));
    return store.keepAllocationRequests(two, { atMs: clock.now(), ttlMs: 3_600_000, most: 200_000 });
  };
  const read = () => store.allocationRequests([randomUUID()], clock.now());
  return [
    ...Object.entries(VARIANTS).map(([name, variant]): [string, () => Promise<unknown>] => {
      let count = 0;
      const one = claim(variant);
      return [`claim_${name}`, () => one(count++)];
    }),
    ['keep_two_references', keep],
    ['read_reference', read],
    ['lease_two_and_end', () => leaseAndEnd(store, claims)],
    ['reserve_two_and_end', () => reserveAndEnd(store, claims)],
  ];
}

/** The two commits of a build's leased alternates. */
async function leaseAndEnd(store: PlacementStore, claims: readonly Allocations[]): Promise<void> {
  const [consumerUuid, atMs] = [randomUUID(), clock.now()];
  const places = claims.slice(0, 2).map((allocations) => {
    return { rootUuid: Object.keys(allocations)[0] as string, allocations, likelihood: 0.0333 };
  });
  const about = { kind: 'alternates', consumerUuid, projectId: 'bench', priority: 0, untilMs: atMs + 900_000 } as const;
  await committed(store, { kind: 'write_lease', atMs, lease: { ...about, places } });
  await committed(store, { kind: 'end_leases', atMs, consumerUuids: [consumerUuid] });
}

/** The two commits of a build's reserved alternates. */
async function reserveAndEnd(store: PlacementStore, claims: readonly Allocations[]): Promise<void> {
  const who = { projectId: 'bench', userId: 'bench', consumerType: 'RESERVATION', owner: 'conductor' } as const;
  const allocations = { ...claims[0], ...claims[1] };
  const consumer = { uuid: randomUUID(), ...who, mappings: {}, expect: { kind: 'any' } } as const;
  const write = (held: Allocations): Command => {
    const consumers = [{ ...consumer, allocations: held }];
    return { kind: 'write_allocations', atMs: clock.now(), withinQuota: true, consumers };
  };
  await committed(store, write(allocations));
  await committed(store, write({}));
}

async function withProcessorTime(redis: Redis, operation: (n: number) => Promise<unknown>, seconds: number) {
  let count = 0;
  const before = await processorUs(redis);
  const { perSecond } = await measureRate(
    (n) => {
      count++;
      return operation(n);
    },
    { inFlight: IN_FLIGHT, seconds },
  );
  return { perSecond, cpuUs: round(((await processorUs(redis)) - before) / count) };
}

async function processorUs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`${name}:([0-9.]+)`).exec(info)?.[1] ?? 0);
  return 1e6 * (seconds('used_cpu_user_main_thread') + seconds('used_cpu_sys_main_thread'));
}

function summary(measured: ReadonlyMap<string, readonly { readonly perSecond: number; readonly cpuUs: number }[]>) {
  const median = (name: string, of: 'perSecond' | 'cpuUs') =>
    percentile(measured.get(name)?.map((one) => one[of]) ?? [], 50);
  const results: Record<string, number> = {};
  for (const name of measured.keys()) {
    results[`${name}_per_s`] = round(median(name, 'perSecond'));
    results[`${name}_cpu_us`] = round(median(name, 'cpuUs'));
    if (name.startsWith('claim_')) {
      results[`${name}_cpu_ratio`] = round(median(name, 'cpuUs') / median('claim_plain', 'cpuUs'));
    }
  }
  return results;
}

function sealedFor(allocations: Allocations): Uint8Array {
  const claimant = { consumerUuid: randomUUID(), projectId: 'project-1', userId: 'user-1', group: undefined };
  return sealer(KEY)(claimant)({ host: 'host-0042', allocations, mappings: { '': Object.keys(allocations) } });
}

/** Bytes of an answer for one instance, and the times of sealing and opening. */
function sizes(allocations: Allocations): Results {
  const sealed = sealedFor(allocations);
  const place = { host: 'host-0042', cell: 'cell1', serviceHost: 'host-0042', epoch: 1_700_000_000_000 };
  const answer = (alternates: number, allocationRequest: Uint8Array) => {
    const others = Array.from({ length: alternates }, () => ({ ...place, allocationRequest }));
    const selected = { ...place, allocationRequest: sealed };
    const destinations = [
      { instanceUuid: randomUUID(), selected, alternates: others, claimToken: 1_700_000_000_000_000 },
    ];
    return selectDestinationsMethod.response.encode({ destinations, noValidHost: undefined }).length;
  };
  const reference = referenceTo(randomUUID());
  const times = 20_000;
  const sealStartedMs = performance.now();
  for (let n = 0; n < times; n++) sealedFor(allocations);
  const openStartedMs = performance.now();
  for (let n = 0; n < times; n++) open(sealed, KEY);
  const endedMs = performance.now();
  return {
    sealed_bytes: sealed.length,
    reference_bytes: reference.length,
    answer_2_sealed_bytes: answer(2, sealed),
    answer_2_reference_bytes: answer(2, reference),
    answer_10_sealed_bytes: answer(10, sealed),
    answer_10_reference_bytes: answer(10, reference),
    seal_us: round((1_000 * (openStartedMs - sealStartedMs)) / times),
    open_us: round((1_000 * (endedMs - openStartedMs)) / times),
  };
}

async function committed(store: PlacementStore, command: Command): Promise<void> {
  const { kind } = await store.commit(command);
  if (kind !== 'committed') throw new Error(`the store refused ${command.kind}: ${kind}`);
}
