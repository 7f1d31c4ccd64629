import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const LEADER = { resources: { VCPU: 6 } };
const WORKER = { resources: { VCPU: 2 } };

it('places all kinds of a gang in one decision, the largest members first', async () => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const selected = await scheduler.selectKinds([
    { spec: WORKER, count: 5 },
    { spec: LEADER, count: 1 },
  ]);
  const hosts = hostsOf(selected);
  expect(hosts.length).toBe(6);
  // Two workers placed first on each host would leave no room for the leader.
  const besideLeader = hosts.slice(0, 5).filter((host) => host === hosts[5]);
  expect(besideLeader.length).toBe(1);
  const tokens = new Set(selected.response.destinations.map(({ claimToken }) => claimToken));
  expect(tokens.size).toBe(1);
});

it('claims nothing of a gang when one kind finds no host, and says which', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const { response } = await scheduler.selectKinds([
    { spec: LEADER, count: 1 },
    { spec: WORKER, count: 2 },
  ]);
  expect(response.destinations).toEqual([]);
  expect(response.noValidHost?.summary).toBe(
    'kind 2 of 2 of the gang (2 instances): room for 1 of 2 instances, then 0 of 1 host fit: 1 lacks free VCPU (capacity_vcpu)',
  );
  expect(hostsOf(await scheduler.select({ resources: { VCPU: 8 } }))).toEqual(['a']);
});

it('places as many of each kind as fit, and no fewer than are enough', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const { response } = await scheduler.selectKinds([
    { spec: { resources: { VCPU: 4 } }, count: 1 },
    { spec: WORKER, count: 5, minCount: 1 },
  ]);
  expect(response.destinations.length).toBe(3);
  expect(response.noValidHost?.summary).toContain('kind 2 of 2');
});

it('counts what all kinds take in the quota before anything is claimed', async () => {
  await world.report('a');
  await setQuota(world.placement, 'project-1', { limits: { VCPU: 5 } });
  const scheduler = await world.scheduler();
  const ofOne = (vcpus: number) => ({ projectId: 'project-1', resources: { VCPU: vcpus } });
  const kinds = (workers: number) => [
    { spec: ofOne(3), count: 1 },
    { spec: ofOne(1), count: workers },
  ];
  const refused = await scheduler.selectKinds(kinds(3));
  expect(refused.response.destinations).toEqual([]);
  expect(refused.conflicts).toBe(0);
  expect(refused.response.noValidHost?.quotaExceeded).toMatchObject([{ resourceClass: 'VCPU', asked: 6, limit: 5 }]);
  expect((await scheduler.selectKinds(kinds(2))).response.destinations.length).toBe(3);
});

it('keeps kinds of one server group apart from each other', async () => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const group = { id: 'g', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const selected = await scheduler.selectKinds([
    { spec: { ...LEADER, group }, count: 1 },
    { spec: { ...WORKER, group }, count: 1 },
  ]);
  expect(hostsOf(selected).toSorted()).toEqual(['a', 'b']);
});
