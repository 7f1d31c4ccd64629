import type { HostCell, HostHardware } from '../hardware/host-hardware';
import { writeObject } from '../objects/versioned-object';
import type { SpecFields } from '../testing/nova-spec';
import { aWorld, instance, uuidOf } from '../testing/world';

/* Decisions on NUMA nodes and PCI devices. The fits by themselves: test/integration/nova/hardware.test.ts, against Nova's own. */

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const SETTINGS = {
  BERTH_NOVA_FILTERS: 'ComputeFilter,NUMATopologyFilter,PciPassthroughFilter',
  BERTH_NOVA_DATABASE_URL: 'mysql://berth@db/nova_api',
};

const aCell = (id: number, cpuCount: number): HostCell => {
  const cpus = Array.from({ length: cpuCount }, (_, i) => id * 10 + i);
  return {
    id,
    cpuset: new Set(),
    pcpuset: new Set(cpus),
    pinnedCpus: new Set(),
    siblings: cpus.map((cpu) => new Set([cpu])),
    cpuUsage: 0,
    memoryMb: 4_096,
    memoryUsageMb: 0,
    pages: [],
    networks: undefined,
    socket: undefined,
  };
};

/** Hardware with a NUMA node of so many processors, and PCI devices near it. */
function hardware(cpuCount: number, deviceCount: number): HostHardware {
  const pool = { count: deviceCount, numaNode: 0, properties: new Map([['vendor_id', '8086']]) };
  const pools = deviceCount > 0 ? [pool] : [];
  return {
    cells: [aCell(0, cpuCount)],
    pools,
    cpuAllocationRatio: 16,
    ramAllocationRatio: 1,
    failedBuilds: 0,
    metrics: new Map(),
  };
}

/** A spec of an instance with processors of its own on one NUMA node, and with PCI devices. */
function wanted(cpuCount: number, deviceCount: number): SpecFields {
  const pcpuset = Array.from({ length: cpuCount }, (_, i) => i);
  const cell = { id: 0, cpuset: [], pcpuset, memory: 256, cpu_policy: 'dedicated' };
  const cells = [writeObject('InstanceNUMACell', '1.6', cell)];
  const requests = [writeObject('InstancePCIRequest', '1.4', { count: deviceCount, spec: [{ vendor_id: '8086' }] })];
  return {
    more: {
      numa_topology: cpuCount > 0 ? writeObject('InstanceNUMATopology', '1.3', { cells }) : null,
      pci_requests: deviceCount > 0 ? writeObject('InstancePCIRequests', '1.1', { requests }) : null,
    },
  };
}

const two = { instance_uuids: [instance(1), instance(2)], return_alternates: false };
const another = (n: number) => ({ instance_uuids: [instance(n)], return_alternates: false });

function tell(...nodes: readonly HostHardware[]): void {
  const byNode = nodes.map((one, i) => [uuidOf(i + 1), one] as const);
  world.facts.setHardware(new Map(byNode), world.clock.elapsed());
}

it('places instances of a request beside each other, as their hosts have processors left', async () => {
  world = await aWorld([{}, {}], SETTINGS);
  tell(hardware(3, 0), hardware(2, 0));
  expect(await world.hosts(wanted(2, 0), two)).toEqual([['h1'], ['h2']]);
  expect(await world.refusal(wanted(2, 0), another(3))).toContain(
    'NUMATopologyFilter refuses 2 (its NUMA nodes have no room for those of the instance: 2)',
  );
});

it("counts what it placed until the node's row changes, or for a minute", async () => {
  world = await aWorld([{}], SETTINGS);
  const read = hardware(0, 1);
  tell(read);
  await world.hosts(wanted(0, 1));
  const refused = 'PciPassthroughFilter refuses 1 (it has too few of the PCI devices: 1)';
  expect(await world.refusal(wanted(0, 1), another(2))).toContain(refused);
  tell(read);
  expect(await world.refusal(wanted(0, 1), another(2))).toContain(refused);
  tell(hardware(0, 1));
  expect(await world.hosts(wanted(0, 1), another(2))).toEqual([['h1']]);
  await world.clock.advance(61_000);
  expect(await world.hosts(wanted(0, 1), another(3))).toEqual([['h1']]);
});

it('tells the limits of the host, by which nova-compute fits again', async () => {
  world = await aWorld([{}], SETTINGS);
  tell(hardware(2, 0));
  const selections = await world.select(wanted(2, 0));
  const limits = JSON.stringify(selections).match(/"NUMATopologyLimits".*?"nova_object.data":(\{.*?\})/)?.[1];
  expect(JSON.parse(limits ?? '')).toEqual({ cpu_allocation_ratio: 16, ram_allocation_ratio: 1 });
});

it('reads the database before each such request, and refuses hosts that it does not tell of', async () => {
  world = await aWorld([{}], SETTINGS);
  tell();
  expect(await world.refusal(wanted(2, 0))).toContain("its hardware is not known from Nova's database: 1");
  expect(world.refreshed).toEqual(['hardware']);
  await world.select();
  expect(world.refreshed).toEqual(['hardware']);
});

it('hands requests over while the database was not read, or too long ago', async () => {
  world = await aWorld([{}], { ...SETTINGS, BERTH_NOVA_FALLBACK_TOPIC: 'stock' });
  expect(await world.select(wanted(2, 0))).toBe('stock');
  tell(hardware(2, 0));
  expect(await world.hosts(wanted(2, 0))).toEqual([['h1']]);
  await world.clock.advance(121_000);
  expect(await world.select(wanted(0, 1))).toBe('stock');
});

it('avoids hosts where builds failed, and hosts with PCI devices for whoever asks for none', async () => {
  const read = { BERTH_NOVA_DATABASE_URL: 'mysql://reader@nova.example/nova_api' };
  world = await aWorld([{}, {}, {}], { ...read, BERTH_NOVA_SHUFFLE_BEST_SAME_WEIGHED_HOSTS: 'false' });
  const bare = hardware(4, 0);
  tell({ ...bare, failedBuilds: 2 }, hardware(4, 3), bare);
  const [[first, second, third] = []] = await world.hosts({}, { ...another(1), return_alternates: true });
  expect([first, second, third]).toEqual(['h3', 'h2', 'h1']);
  tell({ ...bare, failedBuilds: 2 }, { ...bare, failedBuilds: 1 }, { ...bare, failedBuilds: 3 });
  expect(await world.hosts({}, another(2))).toEqual([['h2']]);
});
