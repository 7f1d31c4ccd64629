import { createHash, randomUUID } from 'node:crypto';
import { type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { open, sealer } from '#libs/placement/allocation-request';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror';
import type { PlacementStore, ReportHost } from '#libs/placement/store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { aReport, aWrite, mustCommit } from '#libs/testing/placement';
import { aRequestSpec } from '#libs/testing/request-spec';
import { Fleet } from '../fleet/fleet';
import { type SchedulerConfig, schedulerOptions } from '../options';
import { Rankings } from '../ranking/rankings';
import { type Selected, selectDestinations } from '../select/select-destinations';
import { selectSettings } from '../settings';

/** The deciding parts of one scheduler, with a mirror of its own. */
export interface TestScheduler {
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  readonly rankings: Rankings;
  readonly settings: ReturnType<typeof selectSettings>;
  readonly config: SchedulerConfig;
  /** Selects for `count` new instances, or for the ones given. */
  select(
    spec?: Partial<RequestSpec>,
    instances?: number | readonly string[],
    numAlternates?: number,
  ): Promise<Selected>;
  close(): Promise<void>;
}

/** The cell that schedulers of a test share. */
export interface World {
  readonly placement: PlacementStore;
  readonly clock: FakeClock;
  /** Reports a host; what is not given is 8 VCPU, 16 GiB and 100 GB. */
  report(host: string, fields?: HostFields): Promise<void>;
  /** A consumer with amounts on a host; its uuid. */
  occupy(host: string, resources: Resources, group?: ServerGroup, uuid?: string): Promise<string>;
  scheduler(config?: Partial<SchedulerConfig>, placement?: PlacementStore): Promise<TestScheduler>;
  close(): Promise<void>;
}

type HostFields = Partial<Omit<ReportHost, 'kind' | 'host'>>;

export const INVENTORIES: Inventories = {
  VCPU: inventory(8),
  MEMORY_MB: inventory(16_384),
  DISK_GB: inventory(100),
};

export function uuidOfHost(host: string): string {
  const digits = createHash('sha256').update(host).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

export function aWorld(): World {
  const placement = new MemoryPlacementStore();
  const clock = fakeClock();
  const schedulers: TestScheduler[] = [];
  let sequence = 0;
  return {
    placement,
    clock,
    async report(host, fields = {}) {
      sequence += 1;
      const report = aReport({ inventories: INVENTORIES, traits: [], capabilities: {}, ...fields, host, sequence });
      await placement.commit({ ...report, providerUuid: fields.providerUuid ?? uuidOfHost(host), atMs: clock.now() });
    },
    async occupy(host, resources, group, uuid = randomUUID()) {
      const member = group ? { group: { group, host } } : {};
      const consumers = [aWrite({ [uuidOfHost(host)]: resources }, { uuid, ...member })];
      await mustCommit(placement, { kind: 'write_allocations', atMs: clock.now(), consumers });
      return uuid;
    },
    async scheduler(overrides = {}, store = placement) {
      const scheduler = await openScheduler(store, clock, { hostSubsetSize: 1, ...overrides });
      schedulers.push(scheduler);
      return scheduler;
    },
    async close() {
      for (const scheduler of schedulers) await scheduler.close();
    },
  };
}

async function openScheduler(
  placement: PlacementStore,
  clock: FakeClock,
  overrides: Partial<SchedulerConfig>,
): Promise<TestScheduler> {
  const config: SchedulerConfig = { ...readConfig(schedulerOptions, {}), ...overrides };
  const mirror = await Mirror.open(placement, { clock, log: silentLog });
  const fleet = new Fleet(mirror, config);
  fleet.refresh(clock.now());
  const settings = selectSettings(config);
  const rankings = new Rankings(fleet, settings, config.rankedHosts);
  const deps = { placement, mirror, fleet, rankings, settings, clock, sealer: sealer(config.claimKey) };
  return {
    mirror,
    fleet,
    rankings,
    settings,
    config,
    select(spec = {}, instances = 1, numAlternates = 0) {
      const instanceUuids =
        typeof instances === 'number' ? Array.from({ length: instances }, () => randomUUID()) : instances;
      const request = { requestId: randomUUID(), requestSpec: aRequestSpec(spec), instanceUuids, numAlternates };
      return selectDestinations(request, { isAborted: false, signal: new AbortController().signal }, deps);
    },
    async close() {
      fleet.close();
      await mirror.close();
    },
  };
}

/** The hosts that were selected, in the order of the instances. */
export function hostsOf({ response }: Selected): string[] {
  return response.destinations.map(({ selected }) => selected.host);
}

/** What a sealed allocation request says. */
export function opened(scheduler: TestScheduler, sealed: Uint8Array) {
  return open(sealed, scheduler.config.claimKey);
}
