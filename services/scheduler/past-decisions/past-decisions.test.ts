import { randomUUID } from 'node:crypto';
import { decisionCodec } from '#libs/contracts/diagnosis';
import { SERVICE } from '#libs/contracts/identity';
import { inventory } from '#libs/domain/inventory';
import { aWorld, hostsOf, type TestScheduler, type World } from '../testing/world';
import { explainInstance } from './explain-instance';

let world: World;
let scheduler: TestScheduler;
beforeEach(async () => {
  world = aWorld();
  await world.report('roomy');
  await world.report('full');
  await world.occupy('full', { VCPU: 8 });
  scheduler = await world.scheduler({ keptDecisions: 2 });
});
afterEach(() => world.close());

const REQUEST = { projectId: 'demo', resources: { VCPU: 2 } };

async function kept(uuid: string) {
  await scheduler.flushDecisions();
  return (await explainInstance(uuid, SERVICE, world.placement)).decision;
}

it('tells what was decided: on which revision, why that host and why not another', async () => {
  const uuid = randomUUID();
  const revision = await world.placement.revision();
  expect(hostsOf(await scheduler.select(REQUEST, [uuid]))).toEqual(['roomy']);
  const decision = await kept(uuid);
  expect(decision).toMatchObject({
    projectId: 'demo',
    revision,
    decidedAtMs: world.clock.now(),
    selected: { [uuid]: 'roomy' },
    diagnosis: { hostsConsidered: 2, hostsPassed: 1, filters: [{ filter: 'capacity', reasons: { capacity_vcpu: 1 } }] },
  });
  expect(decision.hosts).toMatchObject([{ host: 'roomy', passed: true }]);
  expect(decision.hosts[0]?.weights['cpu']).toBeGreaterThan(0);
});

it('tells why there was no host', async () => {
  const uuid = randomUUID();
  await scheduler.select({ ...REQUEST, resources: { VCPU: 9 } }, [uuid]);
  const { selected, hosts, diagnosis } = await kept(uuid);
  expect([selected, hosts]).toEqual([{}, []]);
  expect(diagnosis.summary).toBe(
    'the largest host has 8 VCPU: 9 can never fit. 0 of 2 hosts fit: 2 lack free VCPU (capacity_vcpu)',
  );
});

it('tells of the fleet as it was then, with each host that was selected', async () => {
  await world.report('other');
  const uuids = [randomUUID(), randomUUID(), randomUUID()];
  const hosts = hostsOf(await scheduler.select(REQUEST, uuids));
  const decision = await kept(uuids[2] as string);
  expect(Object.values(decision.selected)).toEqual(hosts);
  // Both were empty before the first was placed.
  const weights = decision.hosts.map(({ weight }) => weight);
  expect(new Set(weights).size).toBe(1);
  expect(decision.hosts.map(({ host }) => host).sort()).toEqual(['other', 'roomy']);
});

it("tells a tenant about its own project's instances only", async () => {
  const uuid = randomUUID();
  await scheduler.select(REQUEST, [uuid]);
  await kept(uuid);
  const as = (projectId: string) => explainInstance(uuid, { kind: 'project', projectId }, world.placement);
  expect((await as('demo')).decision.selected).toEqual({ [uuid]: 'roomy' });
  await expect(as('other')).rejects.toMatchObject({ code: 'not_found', reason: 'no_such_decision' });
});

it('keeps the last few, and of an instance the last', async () => {
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()] as const;
  for (const uuid of [first, second, third]) {
    await scheduler.select(REQUEST, [uuid]);
    await kept(uuid);
  }
  await expect(kept(first)).rejects.toMatchObject({ reason: 'no_such_decision' });
  expect((await kept(second)).selected).toHaveProperty(second);
});

it('keeps none where none are to be kept, and decides all the same while the store takes none', async () => {
  const without = await world.scheduler({ keptDecisions: 0 });
  const uuid = randomUUID();
  expect(hostsOf(await without.select(REQUEST, [uuid]))).toEqual(['roomy']);
  await without.flushDecisions();
  await expect(kept(uuid)).rejects.toMatchObject({ reason: 'no_such_decision' });
  world.placement.keepDecisions = () => Promise.reject(new Error('the store is away'));
  expect(hostsOf(await scheduler.select(REQUEST, [uuid]))).toEqual(['roomy']);
});

it('writes what was decided in a moment together, and nobody waits for it', async () => {
  const keepDecisions = jest.spyOn(world.placement, 'keepDecisions');
  const uuids = [randomUUID(), randomUUID()] as const;
  for (const uuid of uuids) await scheduler.select(REQUEST, [uuid]);
  expect(keepDecisions).not.toHaveBeenCalled();
  await world.clock.advance(50);
  expect(keepDecisions.mock.calls.map(([decisions]) => decisions.length)).toEqual([2]);
  expect((await explainInstance(uuids[1], SERVICE, world.placement)).decision.selected).toHaveProperty(uuids[1]);
});

it('keeps of many that found hosts those of a first burst and some each second, and all that found none', async () => {
  await world.report('vast', { inventories: { VCPU: inventory(10_000) } });
  scheduler = await world.scheduler({ keptDecisions: 300 });
  const uuids = Array.from({ length: 70 }, () => randomUUID());
  for (const uuid of uuids) await scheduler.select(REQUEST, [uuid]);
  await scheduler.flushDecisions();
  const found = await Promise.all(uuids.map((uuid) => world.placement.decision(uuid)));
  expect(found.filter((one) => one !== undefined)).toHaveLength(64);
  const [refused, later] = [randomUUID(), randomUUID()];
  await scheduler.select({ ...REQUEST, resources: { VCPU: 99_999 } }, [refused]);
  expect((await kept(refused)).diagnosis.hostsPassed).toBe(0);
  await world.clock.advance(1_000);
  await scheduler.select(REQUEST, [later]);
  expect((await kept(later)).selected).toEqual({ [later]: 'vast' });
});

it('keeps of one project its share, so that its refusals drive out none of another', async () => {
  scheduler = await world.scheduler({ keptDecisions: 300 });
  const refused = { ...REQUEST, resources: { VCPU: 99_999 } };
  const others = randomUUID();
  await scheduler.select(refused, [others]);
  for (let n = 0; n < 400; n++) await scheduler.select({ ...refused, projectId: 'flood' }, [randomUUID()]);
  expect((await kept(others)).projectId).toBe('demo');
});

it('is read again as it was written', async () => {
  const uuid = randomUUID();
  await scheduler.select(REQUEST, [uuid]);
  const decision = await kept(uuid);
  expect(decisionCodec.decode(decisionCodec.encode(decision))).toEqual(decision);
});
