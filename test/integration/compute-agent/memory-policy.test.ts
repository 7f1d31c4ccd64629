import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { findBinary } from '#libs/testing/servers/find-binary';
import type { Driver, InstanceToBuild } from '../../../services/compute-agent/drivers/driver';
import { openProcessDriver } from '../../../services/compute-agent/drivers/process/process-driver';
import { processDriverOptions } from '../../../services/compute-agent/drivers/process/process-options';

/* Processes on the NUMA nodes of this machine, as its kernel shows them, with the memory policy of what was claimed. */

const never = new AbortController().signal;
const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };

let root: string;
let driver: Driver;
let node: string;

beforeAll(async () => {
  findBinary({ name: 'numactl', folders: ['/usr/bin'], debianPackage: 'numactl' });
  root = mkdtempSync(join(tmpdir(), 'berth-memory-policy-'));
  const config = readConfig(processDriverOptions, { BERTH_AGENT_PROCESS_START_MS: '50' });
  const capacity = { inventories: undefined, traits: [], nested: undefined, capabilities: {} };
  driver = await openProcessDriver({ root, capacity }, config, around);
  const found = driver.capacity().nested.find(({ inventories }) => inventories['MEMORY_MB'] !== undefined);
  if (found === undefined) throw new Error('this machine shows no NUMA node with memory');
  node = found.name;
});
afterAll(async () => {
  await driver?.close();
  rmSync(root, { recursive: true, force: true });
});

/** `bind:0`, or `default` on a kernel that does not permit this process to bind memory. */
function expected(): string {
  const number = node.replace('numa', '');
  const canBind = spawnSync('numactl', [`--membind=${number}`, '--', 'true']).status === 0;
  return canBind ? `bind:${number}` : 'default';
}

function policyOf(uuid: string): string {
  const [pid] = readFileSync(join(root, uuid, 'pid'), 'utf8').split(' ');
  const heap = readFileSync(`/proc/${pid}/numa_maps`, 'utf8').split('\n')[0] ?? '';
  return heap.split(' ')[1] ?? '';
}

it('binds memory to the node that was claimed, whichever order starts the process', async () => {
  const resources = { VCPU: 1, MEMORY_MB: 64 };
  const claimed = { [node]: resources };
  const who = { uuid: randomUUID(), name: 'one', projectId: 'p', requestSpec: aRequestSpec(), mappings: {} };
  const instance: InstanceToBuild = { ...who, resources, claimed };
  const { uuid } = instance;
  await driver.build(instance, never);
  expect(policyOf(uuid)).toBe(expected());
  await driver.stop(uuid);
  await driver.start(uuid);
  expect(policyOf(uuid)).toBe(expected());
  await driver.moves?.handOver(uuid, false, never);
  await driver.moves?.resize({ ...instance, resources: { VCPU: 1 }, claimed: { [node]: { VCPU: 1 } } });
  expect(policyOf(uuid)).toBe('default');
  await driver.moves?.handOver(uuid, false, never);
  await driver.moves?.resize(instance);
  expect(policyOf(uuid)).toBe(expected());
  await driver.destroy(uuid);
  await driver.moves?.arrive(instance, new Uint8Array(), never);
  expect(policyOf(uuid)).toBe(expected());
  await driver.destroy(uuid);
});
