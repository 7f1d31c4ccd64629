import { drainHost } from '#libs/client/drain/drain-host';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { SCENARIO_SETTINGS } from '../demo/scenarios/stage';
import { type EmbeddedFleet, startEmbedded } from './fleet';

/* Drains of a whole fleet in this process, where something is in the way of them. */

const clock = systemClock();
const LIMIT = { timeoutMs: 20_000 };
const SPEC = { projectId: 'project-1', userId: 'u', resources: { VCPU: 1 } };
jest.setTimeout(120_000);

let fleet: EmbeddedFleet;
beforeEach(async () => {
  const context = { env: SCENARIO_SETTINGS, clock, random: systemRandom, interrupted: new AbortController().signal };
  const shape = { VCPU: 8 };
  const settings = { schedulers: 1, conductors: 2, hosts: 3, shape, failureRate: 0, latencyMs: 10, hasOwnAgents: true };
  fleet = await startEmbedded(context, settings);
});
afterEach(() => fleet.close());

const build = (count: number, host: string) =>
  fleet.client.buildAndWait({ spec: { ...SPEC, forceHosts: [host] }, count }, LIMIT);

function drain(host: string, onProgress = () => {}) {
  const parts = { client: fleet.client, clock, signal: new AbortController().signal, onProgress };
  return drainHost(parts, { host, reason: 'drained', parallel: 2, timeoutMs: 20_000 });
}

it('takes off a host what a request forced there, of a project at its limit, and leaves the limit as it is', async () => {
  await build(3, 'host-1');
  await fleet.client.setQuota('project-1', { limits: { VCPU: 3, instances: 3 } });
  const drained = await drain('host-1');
  expect(drained.map(({ stays }) => stays)).toEqual([undefined, undefined, undefined]);
  expect(await fleet.client.instances({ host: 'host-1' })).toEqual([]);
  const [quota] = await fleet.client.quotas('project-1');
  expect(quota?.used).toEqual({ VCPU: 3, instances: 3 });
  const more = await fleet.client
    .buildAndWait({ spec: SPEC }, LIMIT)
    .catch((thrown: { reason: string }) => thrown.reason);
  expect(more).toBe('quota_exceeded');
  expect(await fleet.audit()).toEqual({ overAllocated: 0, leaked: 0 });
});

it('says of each instance why it stays on a host that dies meanwhile; evacuated, all run elsewhere, once', async () => {
  const uuids = (await build(6, 'host-1')).map(({ instanceUuid }) => instanceUuid);
  let draining: ReturnType<typeof drain> | undefined;
  await new Promise<void>((isBegun) => {
    draining = drain('host-1', isBegun);
  });
  await fleet.machines.get('host-1')?.kill();
  const drained = (await draining) ?? [];
  expect(drained.map(({ uuid }) => uuid).sort()).toEqual([...uuids].sort());
  const stay = drained.filter(({ stays }) => stays !== undefined);
  expect(stay.length).toBeGreaterThan(0);
  const evacuate = async (uuid: string) => {
    const isAlive = (thrown: { reason?: string }) => thrown.reason === 'host_alive';
    for (;;) {
      const { host, migration } = await fleet.client.instance(uuid);
      if (host !== 'host-1' && migration === undefined) return;
      await fleet.client.operateAndWait(uuid, 'evacuate', LIMIT).catch((thrown: { reason?: string }) => {
        if (!isAlive(thrown)) throw thrown;
      });
    }
  };
  for (const { uuid } of stay) await evacuate(uuid);
  const views = await Promise.all(uuids.map((uuid) => fleet.client.instance(uuid)));
  expect(views.map(({ state, host }) => [state, host === 'host-1'])).toEqual(uuids.map(() => ['active', false]));
  await fleet.machines.get('host-1')?.revive();
  expect(await fleet.audit()).toEqual({ overAllocated: 0, leaked: 0 });
});
