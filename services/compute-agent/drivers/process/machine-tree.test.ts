import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inventory } from '#libs/domain/inventory';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { Driver, InstanceToBuild, NestedCapacity } from '../driver';
import { limitCommand } from './limits';
import { machineTree } from './machine-tree';
import { placeOf } from './placing';
import { allowedCpus } from './proc';
import { openProcessDriver } from './process-driver';
import { processDriverOptions } from './process-options';

/* A made-up /sys: two NUMA nodes, a GPU, one with virtual functions, a network card, and what is neither. */

const GPU = '0000:81:00.0';
const SPLIT_GPU = '0000:c1:00.0';
const NIC = '0000:01:00.0';
const FUNCTIONS = ['0000:c1:00.4', '0000:c1:00.5', '0000:c1:00.6'];

let folder: string;
let sys: string;
const opened: Driver[] = [];
const built: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-machine-'));
  sys = join(folder, 'sys');
});
afterEach(async () => {
  for (const uuid of built.splice(0)) await opened.at(-1)?.destroy(uuid);
  for (const driver of opened.splice(0)) await driver.close();
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  mkdirSync(join(sys, path, '..'), { recursive: true });
  writeFileSync(join(sys, path), `${text}\n`);
}

function node(number: number, cpus: string, memoryMb: number): void {
  write(`devices/system/node/node${number}/cpulist`, cpus);
  write(`devices/system/node/node${number}/meminfo`, `Node ${number} MemTotal:   ${memoryMb * 1_024} kB`);
}

function device(address: string, kind: string, numaNode: number, files: Readonly<Record<string, string>> = {}): void {
  for (const [file, text] of Object.entries({ class: `0x${kind}0000`, numa_node: String(numaNode), ...files })) {
    write(`bus/pci/devices/${address}/${file}`, text);
  }
}

function link(address: string, name: string, to: string): void {
  symlinkSync(`../${to}`, join(sys, 'bus/pci/devices', address, name));
}

/** Says that these cores are threads of one core. */
function threads(...cpus: readonly number[]): void {
  for (const cpu of cpus) write(`devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, cpus.join(','));
}

/** A machine of two nodes with these cores. */
function makeMachine(first: string, second: string): void {
  node(0, first, 4_096);
  node(1, second, 8_192);
  device(GPU, '03', 0);
  device(SPLIT_GPU, '03', 1, { sriov_totalvfs: '4', sriov_numvfs: '3' });
  for (const [n, address] of FUNCTIONS.entries()) {
    device(address, '03', 1);
    link(address, 'physfn', SPLIT_GPU);
    link(SPLIT_GPU, `virtfn${n}`, address);
  }
  device(NIC, '02', -1, { 'net/eth0/speed': '25000' });
  device('0000:02:00.0', '01', 0);
}

const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };

async function open(dedicated = '', nested?: readonly NestedCapacity[], mayBeRealtime = true): Promise<Driver> {
  const settings = {
    BERTH_AGENT_PROCESS_DEDICATED: dedicated,
    BERTH_AGENT_PROCESS_REALTIME: String(mayBeRealtime),
    BERTH_AGENT_PROCESS_START_MS: '50',
    BERTH_AGENT_PROCESS_STOP_MS: '300',
  };
  const capacity = { inventories: undefined, traits: [], nested, capabilities: {} };
  const host = { root: join(folder, 'instances'), sys, capacity };
  const driver = await openProcessDriver(host, readConfig(processDriverOptions, settings), around);
  opened.push(driver);
  return driver;
}

function anInstance(claimed: InstanceToBuild['claimed']): InstanceToBuild {
  const uuid = randomUUID();
  built.push(uuid);
  const who = { uuid, name: 'one', projectId: 'p', requestSpec: aRequestSpec() };
  return { ...who, resources: { VCPU: 1 }, claimed, mappings: { _gpu: [SPLIT_GPU] } };
}

const procOf = (uuid: string, file: string) => {
  const [pid] = readFileSync(join(folder, 'instances', uuid, 'pid'), 'utf8').split(' ');
  return readFileSync(`/proc/${pid}/${file}`, 'utf8');
};
const environmentOf = (uuid: string) =>
  Object.fromEntries(
    procOf(uuid, 'environ')
      .split('\0')
      .map((pair) => pair.split(/=(.*)/s).slice(0, 2)),
  );

it('finds NUMA nodes, GPUs, virtual functions and network cards, each below its node', async () => {
  makeMachine('0-3', '4-7,12');
  const { nested } = await machineTree(sys, { shared: [0, 1, 2, 3, 4, 5], dedicated: [12] });
  const gbit25 = inventory(25_000_000);
  expect(nested).toEqual([
    {
      name: 'numa0',
      parent: '',
      inventories: { VCPU: inventory(4), MEMORY_MB: inventory(4_096) },
      traits: ['HW_NUMA_ROOT'],
    },
    {
      name: 'numa1',
      parent: '',
      inventories: { VCPU: inventory(2), PCPU: inventory(1), MEMORY_MB: inventory(8_192) },
      traits: ['HW_NUMA_ROOT'],
    },
    {
      name: NIC,
      parent: '',
      inventories: { NET_BW_EGR_KILOBIT_PER_SEC: gbit25, NET_BW_IGR_KILOBIT_PER_SEC: gbit25 },
      traits: [],
    },
    { name: GPU, parent: 'numa0', inventories: { PGPU: inventory(1) }, traits: [] },
    { name: SPLIT_GPU, parent: 'numa1', inventories: { VGPU: inventory(4, { reserved: 1 }) }, traits: [] },
  ]);
});

it('finds nothing on a machine that shows nothing', async () => {
  expect((await machineTree(sys, { shared: [0], dedicated: [] })).nested).toEqual([]);
});

it('runs an instance on cores of the node that was claimed, and passes it its devices by name', async () => {
  const [first = 0, second = first] = await allowedCpus();
  makeMachine(String(first), String(second));
  const driver = await open();
  expect(Object.keys(driver.capacity().inventories)).toEqual(['DISK_GB']);
  const instance = anInstance({ numa1: { VCPU: 1, MEMORY_MB: 64 }, [SPLIT_GPU]: { VGPU: 2 }, [GPU]: { PGPU: 1 } });
  await driver.build(instance, new AbortController().signal);
  expect(procOf(instance.uuid, 'status')).toMatch(new RegExp(`^Cpus_allowed_list:\t${second}$`, 'm'));
  expect(environmentOf(instance.uuid)).toMatchObject({
    BERTH_NUMA_NODES: '1',
    BERTH_DEVICES: [...FUNCTIONS.slice(0, 2), GPU].join(','),
    BERTH_MAPPINGS: JSON.stringify({ _gpu: [SPLIT_GPU] }),
  });
});

it('passes a device that an operator has named by that name', async () => {
  makeMachine('0', '1');
  const named = (name: string) => ({ name, parent: '', inventories: { VGPU: inventory(8) }, traits: [] });
  const driver = await open('', [named('gpu0'), named(SPLIT_GPU)]);
  for (const [name, passed] of [
    ['gpu0', 'gpu0'],
    [SPLIT_GPU, FUNCTIONS.slice(0, 2).join(',')],
  ] as const) {
    const instance = anInstance({ [name]: { VGPU: 2 } });
    await driver.build(instance, new AbortController().signal);
    expect(environmentOf(instance.uuid)['BERTH_DEVICES']).toBe(passed);
  }
});

it('gives no virtual function to two instances, not after a restart of the agent either', async () => {
  makeMachine('0', '1');
  const never = new AbortController().signal;
  const before = await open();
  const two = anInstance({ [SPLIT_GPU]: { VGPU: 2 } });
  await before.build(two, never);
  await before.close();
  const driver = await open();
  const [one, another] = [anInstance({ [SPLIT_GPU]: { VGPU: 1 } }), anInstance({ [SPLIT_GPU]: { VGPU: 1 } })];
  await driver.build(one, never);
  expect(environmentOf(one.uuid)['BERTH_DEVICES']).toBe(FUNCTIONS[2]);
  await expect(driver.build(another, never)).rejects.toMatchObject({ reason: 'no_free_function' });
  await driver.destroy(two.uuid);
  await driver.build(another, never);
  expect(environmentOf(another.uuid)['BERTH_DEVICES']).toBe(FUNCTIONS[0]);
});

describe('with orders other than to build', () => {
  const never = new AbortController().signal;
  const coresOf = (uuid: string) => /^Cpus_allowed_list:\t(.*)$/m.exec(procOf(uuid, 'status'))?.[1];
  let first: number;
  let second: number;
  beforeEach(async () => {
    [first = 0, second = first] = await allowedCpus();
    if (first === second) throw new Error('these tests need two cores');
    makeMachine(String(first), String(second));
  });

  it('runs on the same when it is started after a stop, by a later run of the agent too', async () => {
    const before = await open();
    const instance = anInstance({ numa1: { VCPU: 1, MEMORY_MB: 64 }, [SPLIT_GPU]: { VGPU: 1 }, [GPU]: { PGPU: 1 } });
    const isOnItsPlace = () => {
      expect(coresOf(instance.uuid)).toBe(String(second));
      expect(environmentOf(instance.uuid)).toMatchObject({
        BERTH_NUMA_NODES: '1',
        BERTH_DEVICES: `${FUNCTIONS[0]},${GPU}`,
        BERTH_MAPPINGS: JSON.stringify({ _gpu: [SPLIT_GPU] }),
      });
    };
    await before.build(instance, never);
    await before.stop(instance.uuid);
    await before.start(instance.uuid);
    isOnItsPlace();
    await before.stop(instance.uuid);
    await before.close();
    const next = await open();
    await next.start(instance.uuid);
    isOnItsPlace();
  });

  it('has its dedicated core again when it is started, though none is free', async () => {
    const driver = await open(String(second));
    const own = anInstance({ numa1: { PCPU: 1 } });
    await driver.build(own, never);
    await driver.stop(own.uuid);
    const another = anInstance({ numa1: { PCPU: 1 } });
    await expect(driver.build(another, never)).rejects.toMatchObject({ reason: 'no_free_core' });
    await driver.start(own.uuid);
    expect(coresOf(own.uuid)).toBe(String(second));
  });

  it('runs on what it holds when it is resized, and on what it held when that is reverted', async () => {
    const driver = await open();
    const instance = anInstance({ numa0: { VCPU: 1 }, [GPU]: { PGPU: 1 } });
    const resized = { ...instance, claimed: { numa1: { VCPU: 1 }, [SPLIT_GPU]: { VGPU: 2 } } };
    await driver.build(instance, never);
    for (const size of [resized, instance]) {
      await driver.moves?.handOver(instance.uuid, false, never);
      await driver.moves?.resize(size);
      const [number, cpu, devices] = size === resized ? ['1', second, FUNCTIONS.slice(0, 2)] : ['0', first, [GPU]];
      expect(coresOf(instance.uuid)).toBe(String(cpu));
      expect(environmentOf(instance.uuid)).toMatchObject({
        BERTH_NUMA_NODES: number,
        BERTH_DEVICES: devices.join(','),
      });
    }
    const other = anInstance({ [SPLIT_GPU]: { VGPU: 3 } });
    await driver.build(other, never);
    expect(environmentOf(other.uuid)['BERTH_DEVICES']).toBe(FUNCTIONS.join(','));
  });

  it('runs on what was claimed where it arrives', async () => {
    const driver = await open();
    const instance = anInstance({ numa1: { VCPU: 1 }, [GPU]: { PGPU: 1 } });
    await driver.moves?.arrive(instance, new Uint8Array(), never);
    expect(coresOf(instance.uuid)).toBe(String(second));
    expect(environmentOf(instance.uuid)).toMatchObject({ BERTH_NUMA_NODES: '1', BERTH_DEVICES: GPU });
  });

  it('is not started without a device that was taken out of the machine meanwhile', async () => {
    const driver = await open();
    const instance = anInstance({ [GPU]: { PGPU: 1 } });
    await driver.build(instance, never);
    await driver.stop(instance.uuid);
    rmSync(join(sys, 'bus/pci/devices', GPU), { recursive: true });
    await driver.list();
    await expect(driver.start(instance.uuid)).rejects.toMatchObject({ reason: 'device_gone' });
    expect(await driver.list()).toEqual([]);
  });
});

it('has no device any more that was taken out of the machine, and builds nothing with it', async () => {
  makeMachine('0', '1');
  const driver = await open();
  rmSync(join(sys, 'bus/pci/devices', GPU), { recursive: true });
  await driver.list();
  expect(driver.capacity().nested.map(({ name }) => name)).toEqual(['numa0', 'numa1', NIC, SPLIT_GPU]);
  const building = driver.build(anInstance({ [GPU]: { PGPU: 1 } }), new AbortController().signal);
  await expect(building).rejects.toMatchObject({ reason: 'device_gone' });
});

it('takes cores and memory from different nodes when they were claimed so', async () => {
  makeMachine('0-3', '4-7');
  const cores = { shared: [0, 1, 4, 5, 6, 7], dedicated: [2, 3] };
  const tree = await machineTree(sys, cores);
  const claimed = { numa0: { VCPU: 1, PCPU: 2 }, numa1: { MEMORY_MB: 64 } };
  const instance = { claimed, resources: {}, mappings: {}, requestSpec: aRequestSpec() };
  expect(placeOf(instance, tree, cores, new Set())).toEqual({
    cores: [
      { count: 1, among: [0, 1], isDedicated: false },
      { count: 2, among: [2, 3], isDedicated: true, threadPolicy: undefined, emulatorCount: 0 },
      { count: 0, among: [4, 5, 6, 7], isDedicated: false },
    ],
    emulatorThreads: undefined,
    realtimeCount: 0,
    nodes: [0, 1],
    memoryNodes: [1],
    devices: [],
  });
  const command = limitCommand({}, { cores: [0, 2], memoryNodes: [1], isRealtime: false }, undefined).join(' ');
  expect(command).toContain('numactl --membind=1 -- taskset --cpu-list 0,2 setpriv');
});

it('gives a dedicated core to one instance at a time, after a restart of the agent too, and shares the others', async () => {
  const [shared = 0, dedicated = shared] = await allowedCpus();
  if (shared === dedicated) throw new Error('this test needs two cores');
  node(0, `${shared},${dedicated}`, 4_096);
  const never = new AbortController().signal;
  const coresOf = (uuid: string) => /^Cpus_allowed_list:\t(.*)$/m.exec(procOf(uuid, 'status'))?.[1];
  const before = await open(String(dedicated));
  expect(before.capacity().nested[0]?.inventories).toMatchObject({ PCPU: { total: 1 } });
  const own = anInstance({ numa0: { PCPU: 1 } });
  await before.build(own, never);
  expect(coresOf(own.uuid)).toBe(String(dedicated));
  await before.close();
  const driver = await open(String(dedicated));
  const another = anInstance({ numa0: { PCPU: 1 } });
  await expect(driver.build(another, never)).rejects.toMatchObject({ reason: 'no_free_core' });
  const sharing = anInstance({ numa0: { MEMORY_MB: 64 } });
  await driver.build(sharing, never);
  expect(coresOf(sharing.uuid)).not.toContain(String(dedicated));
  await driver.destroy(own.uuid);
  await driver.build(another, never);
  expect(coresOf(another.uuid)).toBe(String(dedicated));
});

describe('with wishes for its processors', () => {
  const never = new AbortController().signal;
  const wishing = (extraSpecs: Readonly<Record<string, string>>, resources: Readonly<Record<string, number>>) => ({
    ...anInstance({}),
    resources,
    requestSpec: aRequestSpec({ resources: { VCPU: 1 }, extraSpecs }),
  });
  /** Real-time priority and scheduling policy of an instance: 1 is SCHED_FIFO. */
  const scheduling = (uuid: string) => procOf(uuid, 'stat').split(') ')[1]?.split(' ').slice(37, 39);
  let first: number;
  let second: number;
  beforeEach(async () => {
    [first = 0, second = first] = await allowedCpus();
    if (first === second) throw new Error('these tests need two cores');
  });

  it('has the trait of threads if cores have several, and what only dedicated cores can do only with such', async () => {
    makeMachine(String(first), String(second));
    expect((await open()).capacity().traits).toEqual([]);
    threads(first, second);
    expect((await open()).capacity().traits).toEqual(['HW_CPU_HYPERTHREADING']);
    expect((await open(String(second))).capacity().traits).toContain('CUSTOM_COMPUTE_EMULATOR_THREADS');
    const cautious = await open(String(second), undefined, false);
    expect(cautious.capacity().traits).not.toContain('CUSTOM_COMPUTE_CPU_REALTIME');
  });

  it('runs a pair of threads on those of one core, and names the cores of its emulator', async () => {
    threads(first, second);
    const driver = await open(`${first},${second}`, []);
    const policy = { 'hw:cpu_policy': 'dedicated', 'hw:cpu_thread_policy': 'require' };
    const pair = wishing(policy, { PCPU: 2 });
    await driver.build(pair, never);
    await expect(driver.build(wishing(policy, { PCPU: 1 }), never)).rejects.toMatchObject({ reason: 'no_free_core' });
    await driver.destroy(pair.uuid);
    const isolated = wishing({ 'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'isolate' }, { PCPU: 2 });
    await driver.build(isolated, never);
    expect(procOf(isolated.uuid, 'status')).toMatch(new RegExp(`^Cpus_allowed_list:\\t${first}$`, 'm'));
    expect(environmentOf(isolated.uuid)['BERTH_EMULATOR_CORES']).toBe(String(second));
  });

  it('names the shared cores to an instance whose emulator shares', async () => {
    const driver = await open(String(second), []);
    const sharing = wishing({ 'hw:cpu_policy': 'dedicated', 'hw:emulator_threads_policy': 'share' }, { PCPU: 1 });
    await driver.build(sharing, never);
    expect(procOf(sharing.uuid, 'status')).toMatch(new RegExp(`^Cpus_allowed_list:\\t${second}$`, 'm'));
    expect(environmentOf(sharing.uuid)['BERTH_EMULATOR_CORES']?.split(',')).not.toContain(String(second));
  });

  it('schedules in real time if it says that it can, and builds nothing so if it can not', async () => {
    const driver = await open(String(second), []);
    const canSchedule = driver.capacity().traits.includes('CUSTOM_COMPUTE_CPU_REALTIME');
    const realtime = { 'hw:cpu_realtime': 'yes', 'hw:emulator_threads_policy': 'share', 'hw:cpu_policy': 'dedicated' };
    const instance = wishing(realtime, { PCPU: 1 });
    const outcome = await driver.build(instance, never).then(
      () => [scheduling(instance.uuid), environmentOf(instance.uuid)['BERTH_REALTIME_CORES']],
      (thrown: { readonly reason: string }) => thrown.reason,
    );
    expect(outcome).toEqual(canSchedule ? [['1', '1'], String(second)] : 'not_started');
  });
});

it('refuses dedicated cores that it may not use', async () => {
  await expect(open('9999')).rejects.toMatchObject({ reason: 'bad_config' });
});
