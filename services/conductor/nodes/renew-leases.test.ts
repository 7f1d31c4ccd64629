import { callMethod } from '#libs/bus/typed-calls';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { agentSender, HOST_LEASES } from '#libs/contracts/queues';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from '../testing/conductor-world';

const LEASE_MS = 30_000;
const AGENT = { serviceHost: 'h1', agentRun: 'run', formerRun: '' };

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 2, h2: 2 });
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

const acquire = (holder: typeof AGENT, ...hosts: string[]) =>
  world.placement.acquireHosts({ ...holder, hosts, leaseMs: LEASE_MS, atMs: world.clock.now() });

/** The epochs that a run of an agent gets from conductors. */
async function renewed(holder: typeof AGENT, ...hosts: string[]): Promise<number[]> {
  const options = { timeoutMs: 1_000, sender: agentSender(holder.serviceHost) };
  const request = { ...holder, hosts, leaseMs: LEASE_MS };
  const { grants } = await callMethod({ bus: world.bus, queue: HOST_LEASES }, acquireHostsMethod, request, options);
  return grants.map(({ epoch }) => epoch);
}

it('renews the leases of the run that holds the hosts, by the same epochs, also one that has run out', async () => {
  const [grant] = await acquire(AGENT, 'h1');
  const epoch = grant?.kind === 'granted' ? grant.epoch : 0;
  expect(epoch).toBeGreaterThan(0);
  await world.clock.advance(LEASE_MS - 1);
  expect(await renewed(AGENT, 'h1', 'h2')).toEqual([epoch, 0]);
  await world.clock.advance(LEASE_MS - 1);
  expect((await acquire({ ...AGENT, agentRun: 'another' }, 'h1'))[0]?.kind).toBe('taken');
  await world.clock.advance(LEASE_MS);
  expect(await renewed(AGENT, 'h1')).toEqual([epoch]);
});

it('renews nothing for a run that has lost the host to another', async () => {
  await acquire(AGENT, 'h1');
  await world.clock.advance(LEASE_MS + 1);
  await acquire({ ...AGENT, agentRun: 'another' }, 'h1');
  await world.clock.advance(LEASE_MS + 1);
  expect(await renewed(AGENT, 'h1')).toEqual([0]);
});

it('renews nothing of a host that is down: it may be evacuated once its lease has run out', async () => {
  await acquire(AGENT, 'h1');
  const atMs = world.clock.now();
  await world.placement.commit({ kind: 'sweep_hosts', atMs, silentSinceMs: atMs + 1, limit: 10 });
  expect(await renewed(AGENT, 'h1')).toEqual([0]);
});
