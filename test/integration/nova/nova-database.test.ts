import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { findPython } from '#libs/testing/servers/find-binary';
import { type MariadbServer, startMariadb } from '#libs/testing/servers/mariadb';
import { openDatabase } from '../../../services/nova-scheduler/facts/mysql';
import { openNovaDatabase } from '../../../services/nova-scheduler/facts/nova-database';
import { writeObject } from '../../../services/nova-scheduler/objects/versioned-object';
import { sharedServer } from '../../shared-servers';
import { eventually } from '../test-cell';
import { aNovaCloud } from './nova-cloud';

/* NUMA nodes and PCI devices of Nova's database: a real MariaDB with Nova's own tables. */

const CELL = 'ce110000-0000-4000-8000-00000000000d';
const signal = AbortSignal.timeout(300_000);

let mariadb: MariadbServer;
let cloud: Awaited<ReturnType<typeof aNovaCloud>>;
beforeAll(async () => {
  const servers = { rabbitmq: sharedServer('rabbitmq'), redis: sharedServer('redis') };
  [mariadb, cloud] = await Promise.all([startMariadb(), aNovaCloud(servers, 3)]);
  const python = findPython({ nova: 'python3-nova', pymysql: 'python3-pymysql' });
  const server = `mysql+pymysql://root@127.0.0.1:${mariadb.port}`;
  await promisify(execFile)(python, [join(__dirname, 'nova_schema.py'), server]);
  const at = `mysql+pymysql://{username}:{password}@{hostname}:{port}/nova_cell1?{query}`;
  await mariadb.sql(`insert into nova_api.cell_mappings (id, uuid, name, transport_url, database_connection, disabled) values
    (1, '00000000-0000-0000-0000-000000000000', 'cell0', 'none:///', 'mysql+pymysql://nobody@nowhere/nova_cell0', 0),
    (2, '${CELL}', 'cell1', 'none:///', '${at}', 0);
    insert into nova_api.host_mappings (cell_id, host) values (2, 'h1'), (2, 'h2'), (2, 'h3')`);
  for (const host of ['h1', 'h2', 'h3']) await addNode(host);
});
afterAll(async () => {
  await Promise.all([cloud?.close(), mariadb?.stop()]);
});

const url = () => `${mariadb.url}/nova_api`;
const uuidOf = (host: string) =>
  String(cloud.api.hypervisors.find((one) => one['hypervisor_hostname'] === host)?.['id']);

async function addNode(host: string): Promise<void> {
  await mariadb.sql(`insert into nova_cell1.compute_nodes
    (uuid, host, hypervisor_hostname, vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, hypervisor_type,
      hypervisor_version, cpu_info, deleted, created_at)
    values ('${uuidOf(host)}', '${host}', '${host}', 4, 4096, 10, 0, 0, 0, 'QEMU', 1, '{}', 0, utc_timestamp())`);
}

/** Writes what nova-compute of a host would tell: a NUMA node with four processors, and a PCI device of it. */
async function tellHardware(host: string, pinned: readonly number[], deviceCount: number): Promise<void> {
  const cell = writeObject('NUMACell', '1.5', {
    id: 0,
    cpuset: [],
    pcpuset: [0, 1, 2, 3],
    memory: 4_096,
    cpu_usage: 0,
    memory_usage: 0,
    pinned_cpus: pinned,
    siblings: [[0], [1], [2], [3]],
    mempages: [],
    socket: 0,
  });
  const pool = writeObject('PciDevicePool', '1.1', {
    count: deviceCount,
    numa_node: 0,
    product_id: '1520',
    vendor_id: '8086',
    tags: { dev_type: 'type-PCI' },
  });
  const topology = JSON.stringify(writeObject('NUMATopology', '1.2', { cells: [cell] }));
  const pools = JSON.stringify(writeObject('PciDevicePoolList', '1.1', { objects: [pool] }));
  await mariadb.sql(`update nova_cell1.compute_nodes set numa_topology = '${topology}', pci_stats = '${pools}',
    cpu_allocation_ratio = 16, ram_allocation_ratio = 1.5, updated_at = utc_timestamp() where host = '${host}'`);
}

it('reads cells and hardware, of later reads what changed, and can not write', async () => {
  const database = await openNovaDatabase(url(), { clock: systemClock(), log: silentLog, describesHosts: true });
  const hardware = async (host: string) => (await database.hardware(signal)).get(uuidOf(host));
  try {
    expect(await database.cells(signal)).toEqual(new Map(['h1', 'h2', 'h3'].map((host) => [host, CELL])));
    expect(await hardware('h1')).toEqual({
      cells: [],
      pools: [],
      cpuAllocationRatio: 4,
      ramAllocationRatio: 1,
      failedBuilds: 0,
      metrics: new Map(),
      described: { cpuInfo: '{}', stats: undefined, supportedInstances: [] },
    });
    await tellHardware('h1', [3], 2);
    const told = await hardware('h1');
    expect(told).toMatchObject({
      cells: [{ id: 0, pinnedCpus: new Set([3]) }],
      pools: [{ count: 2 }],
      cpuAllocationRatio: 16,
    });
    expect(await hardware('h1')).toBe(told);
    await mariadb.sql(`update nova_cell1.compute_nodes set stats = '{"failed_builds": "3", "num_instances": "1"}',
      metrics = '[{"name": "cpu.percent", "value": 0.25}, {"name": "cpu.frequency", "value": 1600}]',
      updated_at = utc_timestamp() where host = 'h1'`);
    const metrics = new Map(Object.entries({ 'cpu.percent': 25, 'cpu.frequency': 1_600 }));
    expect(await hardware('h1')).toMatchObject({
      failedBuilds: 3,
      metrics,
      described: { stats: new Map(Object.entries({ failed_builds: '3', num_instances: '1' })) },
    });
    await tellHardware('h1', [0, 1, 2, 3], 0);
  } finally {
    await database.close();
  }
  const api = openDatabase(
    { host: '127.0.0.1', port: mariadb.port, user: 'root', password: '', database: 'nova_api' },
    5_000,
  );
  await expect(api.rows('delete from host_mappings')).rejects.toThrow('READ ONLY');
  await api.close();
});

it("reads the images of a cell's instances, of later reads what is new", async () => {
  const database = await openNovaDatabase(url(), { clock: systemClock(), log: silentLog, describesHosts: true });
  const [one, gone] = ['1', '2'].map((n) => `00000000-0000-4000-9000-00000000000${n}`);
  const addInstance = (uuid: string, deleted: number) =>
    mariadb.sql(`insert into nova_cell1.instances (uuid, deleted) values ('${uuid}', ${deleted})`);
  const addProperty = (uuid: string, name: string, value: string) =>
    mariadb.sql(`insert into nova_cell1.instance_system_metadata (instance_uuid, \`key\`, value, deleted)
      values ('${uuid}', '${name}', '${value}', 0)`);
  try {
    await addInstance(`${one}`, 0);
    await addInstance(`${gone}`, 1);
    await addProperty(`${one}`, 'image_os_distro', 'debian');
    await addProperty(`${one}`, 'image_architecture', 'x86_64');
    await addProperty(`${one}`, 'boot_roles', 'admin');
    await addProperty(`${gone}`, 'image_os_distro', 'debian');
    const first = { os_distro: 'debian', hw_architecture: 'x86_64' };
    expect(await database.images(signal)).toEqual(new Map([[one, new Map(Object.entries(first))]]));
    await addProperty(`${one}`, 'image_hw_boot_menu', 'true');
    expect((await database.images(signal)).get(`${one}`)).toEqual(
      new Map(Object.entries({ ...first, hw_boot_menu: 'true' })),
    );
  } finally {
    await database.close();
  }
});

it("places by NUMA nodes and PCI devices, and says so in Nova's own objects", async () => {
  await cloud.launch({
    BERTH_NOVA_CELLS: '',
    BERTH_NOVA_DATABASE_URL: url(),
    BERTH_NOVA_FACTS_MAX_AGE_MS: '1000',
    BERTH_NOVA_HARDWARE_INTERVAL_MS: '500',
    BERTH_NOVA_FILTERS: 'ComputeFilter,NUMATopologyFilter,PciPassthroughFilter',
  });
  await tellHardware('h2', [], 1);
  const [first, second] = await cloud.client('numa', 'numa');
  const [[selected] = []] = (first as { selections: Record<string, unknown>[][] }).selections;
  expect(selected).toMatchObject({ host: 'h2', cell: CELL });
  const ratios = { cpu_allocation_ratio: 16, ram_allocation_ratio: 1.5 };
  expect(selected?.['limits']).toMatchObject({ numa_topology: { 'nova_object.data': ratios } });
  // Nova's database does not tell of the first instance yet.
  expect((second as { reason: string }).reason).toMatch(/^3 hosts: PciPassthroughFilter refuses 3 /);
  await tellHardware('h2', [0, 1], 1);
  await tellHardware('h3', [0, 1, 2], 1);
  const [third, fourth] = await cloud.client('numa', 'numa');
  expect(third).toMatchObject({ selections: [[{ host: 'h2' }]] });
  expect((fourth as { reason: string }).reason).toMatch(
    /NUMATopologyFilter refuses 1 \(its NUMA nodes have no room for those of the instance: 1\)/,
  );
});

it('says in the fault that the database is away', async () => {
  await mariadb.stop();
  let reason = '';
  // A calm machine asks before the facts are old.
  await eventually('a fault of old facts', async () => {
    const [refused] = (await cloud.client('numa')) as { reason: string }[];
    reason = refused?.reason ?? '';
    return reason.includes('hardware were read');
  });
  expect(reason).toMatch(/Nova's database is away: .*hardware were read \d+ s ago/);
});
