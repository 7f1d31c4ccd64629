import { callMethod } from '#libs/bus/typed-calls';
import { deleteHostMethod } from '#libs/contracts/hosts';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld, providerOf } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 2 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

async function deleteHost(host: string, bus = world.bus): Promise<string> {
  const answered = callMethod({ bus, queue: RPC_CONDUCTOR }, deleteHostMethod, { host }, { timeoutMs: 1_000 }).then(
    ({ serviceHost }) => `deleted ${serviceHost}`,
    (error: { reason: string; message: string }) => error.reason,
  );
  await world.clock.advance(0);
  return answered;
}

it('deletes a host that is dead and empty, with its provider', async () => {
  expect(await deleteHost('h1')).toBe('host_alive');
  await world.setUp('h1', false);
  expect(await deleteHost('h1')).toBe('deleted h1');
  expect(await world.placement.hosts(['h1'])).toEqual([]);
  expect(await deleteHost('h1')).toBe('no_such_host');
});

it('refuses while it has instances, until they have gone', async () => {
  await world.request();
  await world.clock.advance(0);
  expect(await deleteHost('h1')).toBe('host_has_instances');
  await world.terminate((await world.only()).uuid);
  await world.clock.advance(0);
  await world.setUp('h1', false);
  expect(await deleteHost('h1')).toBe('deleted h1');
});

it('refuses while the lease of its agent lasts, and its agent has it again when it comes back', async () => {
  const holder = { agentRun: 'a run', serviceHost: 'h1', hosts: ['h1'], leaseMs: 5_000 };
  await world.setUp('h1', false);
  await world.placement.acquireHosts({ ...holder, atMs: world.clock.now() });
  expect(await deleteHost('h1')).toBe('host_alive');
  await world.clock.advance(6_000);
  expect(await deleteHost('h1')).toBe('deleted h1');
  const [grant] = await world.placement.acquireHosts({ ...holder, atMs: world.clock.now() });
  expect(grant).toMatchObject({ kind: 'granted' });
});

it('refuses while others hold something there, and lets its agent have it again', async () => {
  const consumer = {
    uuid: world.random.uuid(),
    projectId: 'nova',
    userId: 'nova',
    consumerType: 'INSTANCE',
    owner: 'api',
    allocations: { [providerOf('h1')]: { VCPU: 1 } },
    mappings: {},
    expect: { kind: 'any' },
  } as const;
  await world.placement.commit({ kind: 'write_allocations', atMs: world.clock.now(), consumers: [consumer] });
  await world.setUp('h1', false);
  expect(await deleteHost('h1')).toBe('host_in_use');
  const holder = { agentRun: 'a run', serviceHost: 'h1', hosts: ['h1'], leaseMs: 5_000 };
  const [grant] = await world.placement.acquireHosts({ ...holder, atMs: world.clock.now() });
  expect(grant).toMatchObject({ kind: 'granted' });
});

it('is for operators', async () => {
  const tenant = world.openBus({ kind: 'project', projectId: 'project-1' });
  expect(await deleteHost('h1', tenant)).toBe('services_only');
  await tenant.close();
});
