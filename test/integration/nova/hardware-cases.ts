import * as fc from 'fast-check';
import { writeObject } from '../../../services/nova-scheduler/objects/versioned-object';

/** A host, an instance and its settings, as objects of Nova's. */
export interface HardwareCase {
  readonly host: object;
  readonly pools: object;
  readonly wanted: object | null;
  readonly requests: object;
  readonly networks: object | null;
  readonly cpuRatio: number;
  readonly ramRatio: number;
  readonly isPacking: boolean;
}

const THREADS = fc.constantFrom(1, 2, 2, 4);
const PHYSNETS = ['blue', 'green'];
const SMALL_KB = 4;
const SIZES_KB = [SMALL_KB, 2_048, 1_048_576];

const networks = fc.record({ physnets: fc.subarray(PHYSNETS), tunneled: fc.boolean() });
const networkObject = (one: { physnets: string[]; tunneled: boolean } | null) =>
  one && writeObject('NetworkMetadata', '1.0', one);

const aPage = (sizeKb: number) =>
  fc
    .record({
      total: fc.integer({ min: 1, max: Math.max(4, 4_194_304 / sizeKb) }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ total, share }) => {
      const used = Math.floor(total * share);
      return writeObject('NUMAPagesTopology', '1.1', { size_kb: sizeKb, total, used, reserved: used > 0 ? 1 : 0 });
    });

/** A cell of a host of which some processors are taken; the old way, in which one set of processors serves all, now and then. */
const aHostCell = (id: number) =>
  fc
    .record({
      threads: THREADS,
      coreCount: fc.integer({ min: 1, max: 4 }),
      sharedCount: fc.integer({ min: 0, max: 6 }),
      isLegacy: fc.boolean(),
      pinned: fc.array(fc.integer({ min: 0, max: 15 }), { maxLength: 5 }),
      cpuUsage: fc.integer({ min: 0, max: 8 }),
      memory: fc.constantFrom(512, 1_024, 4_096),
      memoryUsage: fc.constantFrom(0, 0, 256, 1_024),
      sizes: fc.subarray(SIZES_KB, { minLength: 1 }),
      pages: fc.tuple(...SIZES_KB.map(aPage)),
      networks: fc.option(networks),
      socket: fc.option(fc.integer({ min: 0, max: 1 })),
    })
    .map((of) => {
      const first = id * 100;
      const own = Array.from({ length: of.threads * of.coreCount }, (_, i) => first + i);
      const shared = Array.from({ length: of.sharedCount }, (_, i) => first + 50 + i);
      const siblings = Array.from({ length: of.coreCount }, (_, i) => own.slice(i * of.threads, (i + 1) * of.threads));
      return writeObject('NUMACell', '1.5', {
        id,
        cpuset: of.isLegacy ? own : shared,
        pcpuset: own,
        memory: of.memory,
        cpu_usage: of.cpuUsage,
        memory_usage: Math.min(of.memory, of.memoryUsage),
        pinned_cpus: [...new Set(of.pinned)].map((cpu) => first + cpu).filter((cpu) => own.includes(cpu)),
        siblings,
        mempages: SIZES_KB.flatMap((size, i) => (of.sizes.includes(size) ? (of.pages[i] ?? []) : [])),
        socket: of.socket,
        ...(of.networks && { network_metadata: networkObject(of.networks) }),
      });
    });

const aPool = fc
  .record({
    count: fc.integer({ min: 1, max: 3 }),
    numaNode: fc.option(fc.integer({ min: 0, max: 3 })),
    product: fc.constantFrom('1520', 'ABCD'),
    tags: fc.record(
      {
        dev_type: fc.constantFrom('type-PCI', 'type-PF', 'type-VF', 'vdpa'),
        physical_network: fc.constantFrom(...PHYSNETS, 'Blue'),
        remote_managed: fc.constantFrom('false', 'true', 'True'),
      },
      { requiredKeys: ['dev_type'] },
    ),
  })
  .map(({ count, numaNode, product, tags }) =>
    writeObject('PciDevicePool', '1.1', { count, numa_node: numaNode, product_id: product, vendor_id: '8086', tags }),
  );

const aWish = fc.record(
  {
    vendor_id: fc.constant('8086'),
    product_id: fc.constantFrom('1520', 'abcd'),
    dev_type: fc.constantFrom('type-PF', 'type-VF', 'vdpa'),
    physical_network: fc.constantFrom(...PHYSNETS),
    remote_managed: fc.constantFrom('true', 'false'),
  },
  { requiredKeys: ['vendor_id'] },
);

const aPciRequest = fc
  .record({
    count: fc.integer({ min: 1, max: 3 }),
    spec: fc.array(aWish, { minLength: 1, maxLength: 2 }),
    policy: fc.constantFrom(null, 'legacy', 'preferred', 'required', 'socket'),
  })
  .map(({ count, spec, policy }) =>
    writeObject('InstancePCIRequest', '1.4', { count, spec, numa_policy: policy, alias_name: 'a' }),
  );

const aWantedCell = (policy: string | null) =>
  fc
    .record({
      sharedCount: fc.integer({ min: policy === 'dedicated' ? 0 : 1, max: policy === 'dedicated' ? 0 : 4 }),
      ownCount: fc.integer({ min: 1, max: 5 }),
      memory: fc.constantFrom(4, 64, 256, 1_024, 2_048),
    })
    .map(({ sharedCount, ownCount, memory }) => ({
      cpuset: Array.from({ length: sharedCount }, (_, i) => i),
      pcpuset: policy === 'dedicated' || policy === 'mixed' ? Array.from({ length: ownCount }, (_, i) => 10 + i) : [],
      memory,
    }));

const aWantedTopology = fc
  .record({
    policy: fc.constantFrom(null, 'shared', 'dedicated', 'dedicated', 'mixed'),
    threads: fc.constantFrom(null, 'prefer', 'require', 'isolate'),
    pagesize: fc.constantFrom(null, null, -1, -2, -3, SMALL_KB, 2_048),
    emulator: fc.constantFrom(null, 'share', 'isolate'),
  })
  .chain((of) =>
    fc.array(aWantedCell(of.policy), { minLength: 1, maxLength: 3 }).map((cells) =>
      writeObject('InstanceNUMATopology', '1.3', {
        emulator_threads_policy: of.emulator,
        cells: cells.map((cell, id) =>
          writeObject('InstanceNUMACell', '1.6', {
            ...cell,
            id,
            cpuset_reserved: null,
            pagesize: of.pagesize,
            cpu_pinning_raw: null,
            cpu_policy: of.policy,
            cpu_thread_policy: of.threads,
          }),
        ),
      }),
    ),
  );

/** Hosts of up to four NUMA nodes, and instances that some of them have room for. */
export const hardwareCase: fc.Arbitrary<HardwareCase> = fc.record({
  host: fc
    .integer({ min: 1, max: 4 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, id) => aHostCell(id))))
    .map((cells) => writeObject('NUMATopology', '1.2', { cells })),
  pools: fc.array(aPool, { maxLength: 4 }).map((objects) => writeObject('PciDevicePoolList', '1.1', { objects })),
  wanted: fc.option(aWantedTopology, { freq: 8 }),
  requests: fc
    .array(aPciRequest, { maxLength: 2 })
    .map((requests) => writeObject('InstancePCIRequests', '1.1', { requests })),
  networks: fc.option(networks.map(networkObject), { freq: 1 }),
  cpuRatio: fc.constantFrom(1, 4, 16),
  ramRatio: fc.constantFrom(1, 1.5),
  isPacking: fc.boolean(),
});
