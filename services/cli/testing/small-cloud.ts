import { type Inventories, inventory } from '#libs/domain/inventory';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aWrite, mustCommit } from '#libs/testing/placement/placement';
import { NO_BUILDS } from '../../placement-api/builds/lazy-client';
import { placementApiOptions } from '../../placement-api/options';
import { startPlacementApi } from '../../placement-api/start';

export interface SmallCloud {
  readonly url: string;
  close(): Promise<void>;
}

/** Uuids of providers by number, and of consumers by number from 101. */
export function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

const STORAGE = uuidOf(900);

interface Node {
  readonly name: string;
  readonly parent?: number;
  readonly inventories?: Inventories;
  readonly traits?: readonly string[];
  readonly aggregates?: readonly string[];
}

/** One host with two NUMA nodes and a device on each, a flat host, and a share of storage for the first. */
const PROVIDERS: Readonly<Record<number, Node>> = {
  1: { name: 'host-1', traits: ['COMPUTE_NODE'], aggregates: [STORAGE] },
  2: { name: 'host-1-numa-0', parent: 1, inventories: { VCPU: inventory(16), MEMORY_MB: inventory(32_768) } },
  3: { name: 'host-1-numa-1', parent: 1, inventories: { VCPU: inventory(16), MEMORY_MB: inventory(32_768) } },
  4: {
    name: 'host-1-nic-0',
    parent: 2,
    inventories: { SRIOV_NET_VF: inventory(8) },
    traits: ['CUSTOM_PHYSNET_1'],
  },
  5: { name: 'host-1-gpu-0', parent: 3, inventories: { VGPU: inventory(4, { maxUnit: 2 }) } },
  6: {
    name: 'host-2',
    inventories: {
      VCPU: inventory(8, { allocationRatio: 4 }),
      MEMORY_MB: inventory(16_384, { reserved: 512 }),
      DISK_GB: inventory(500),
    },
  },
  7: {
    name: 'nfs',
    inventories: { DISK_GB: inventory(10_000) },
    traits: ['MISC_SHARES_VIA_AGGREGATE'],
    aggregates: [STORAGE],
  },
};

/** A placement API in this process, on a free port, with a few providers and two consumers. */
export async function startSmallCloud(): Promise<SmallCloud> {
  const placement = new MemoryPlacementStore();
  await fillSmallCloud(placement);
  return startPlacementOn(placement);
}

/** A placement API in this process, on a free port. */
export async function startPlacementOn(placement: PlacementStore): Promise<SmallCloud> {
  const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  const mirror = await Mirror.open(placement, around);
  const config = { ...readConfig(placementApiOptions, {}), port: 0 };
  const api = await startPlacementApi({ ...around, placement, mirror, config, builds: NO_BUILDS });
  return {
    url: api.url,
    async close() {
      await api.close();
      await mirror.close();
    },
  };
}

export async function fillSmallCloud(store: PlacementStore): Promise<void> {
  await mustCommit(store, { kind: 'create_name', catalogue: 'trait', name: 'CUSTOM_PHYSNET_1' });
  for (const [number, node] of Object.entries(PROVIDERS)) {
    const uuid = uuidOf(Number(number));
    const parentUuid = node.parent === undefined ? undefined : uuidOf(node.parent);
    await mustCommit(store, { kind: 'put_provider', mode: 'create', uuid, name: node.name, parentUuid });
    const { inventories, traits, aggregates } = node;
    const change = { providerUuid: uuid, generation: undefined };
    if (inventories) await mustCommit(store, { kind: 'write_inventories', ...change, inventories, replace: true });
    if (traits) await mustCommit(store, { kind: 'write_traits', ...change, traits });
    if (aggregates) await mustCommit(store, { kind: 'write_aggregates', ...change, aggregates });
  }
  const nested = {
    [uuidOf(2)]: { VCPU: 12, MEMORY_MB: 8_192 },
    [uuidOf(4)]: { SRIOV_NET_VF: 1 },
    [uuidOf(7)]: { DISK_GB: 100 },
  };
  const flat = { [uuidOf(6)]: { VCPU: 30, MEMORY_MB: 4_096, DISK_GB: 20 } };
  const consumers = [
    aWrite(nested, { uuid: uuidOf(101) }),
    aWrite(flat, { uuid: uuidOf(102), userId: 'user-2', consumerType: 'MIGRATION' }),
  ];
  await mustCommit(store, { kind: 'write_allocations', consumers });
}
