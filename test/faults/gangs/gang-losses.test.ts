import { randomUUID } from 'node:crypto';
import { castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { OnLoss } from '#libs/domain/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { TestFleet } from '../fleet/test-fleet';

/* A leader and two workers each, on real servers; then the agent of the workers' hosts is killed. */

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await TestFleet.start({
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_CONDUCTOR_REBUILD_AFTER_MS: '1000',
    BERTH_CONDUCTOR_AUDIT_INTERVAL_MS: '1000',
  });
});
afterAll(() => fleet?.stop());

/** Asks for a gang of two kinds: the leader on a host of one agent, the workers on two of the other. Resolves once it runs. */
async function build(onLoss: OnLoss): Promise<{ readonly leader: string; readonly workers: readonly string[] }> {
  const requestId = randomUUID();
  const hosts = (await fleet.rows()).hosts.map(({ name }) => name).sort();
  const [leadersHost = ''] = hosts.filter((name) => name.startsWith('agent-b'));
  const workersHosts = hosts.filter((name) => name.startsWith('agent-a')).slice(0, 2);
  const [leader = '', ...workers] = Array.from({ length: 3 }, () => randomUUID());
  const group = { id: requestId, policy: 'anti-affinity', maxPerHost: 1 } as const;
  const specOn = (forceHosts: readonly string[], vcpus: number) =>
    anEncodedSpec({ resources: { VCPU: vcpus, MEMORY_MB: 256 }, group, forceHosts });
  const request = {
    requestId,
    requestSpec: specOn([leadersHost], 2),
    count: 1,
    name: 'leader',
    instanceUuids: [leader, ...workers],
    furtherMembers: [{ requestSpec: specOn(workersHosts, 1), count: 2, minCount: 1, name: 'worker' }],
    onLoss,
  };
  await castTyped({ bus: fleet.tenant, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: requestId });
  await fleet.eventually('the gang runs', async () => {
    const members = await fleet.instances.get(request.instanceUuids);
    return members.length === 3 && members.every(({ state }) => state === 'active');
  });
  return { leader, workers };
}

it('restores the one gang and ends the other when the hosts of two members of each die', async () => {
  const [restored, ended] = [await build('restore'), await build('end')];
  const all = [restored, ended].flatMap(({ leader, workers }) => [leader, ...workers]);
  await fleet.kill('agent-a');
  await fleet.eventually('the workers of the one run elsewhere', async () => {
    const workers = await fleet.instances.get(restored.workers);
    return workers.every(({ state, host }) => state === 'active' && host?.startsWith('agent-b'));
  });
  await fleet.eventually('the other has ended', async () => {
    const members = await fleet.instances.get([ended.leader, ...ended.workers]);
    return members.every(({ state, dueAtMs }) => state === 'error' && dueAtMs === undefined);
  });
  const [leader] = await fleet.instances.get([ended.leader]);
  expect(leader?.fault).toMatchObject({ reason: 'gang_failed', message: expect.stringContaining('is dead') });
  expect((await fleet.instances.get(ended.workers)).map(({ fault }) => fault?.reason)).toEqual([
    'instance_lost',
    'instance_lost',
  ]);
  const [kept] = await fleet.instances.get([restored.leader]);
  expect(kept).toMatchObject({ state: 'active', host: expect.stringContaining('agent-b') });
  // Back, the hosts destroy what was given up there.
  fleet.launch('agent-a');
  expect(await fleet.problems(all)).toEqual([]);
  expect(fleet.runs()).toHaveLength(3);
});
