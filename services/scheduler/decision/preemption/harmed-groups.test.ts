import type { ServerGroup } from '#libs/domain/server-group';
import { aWorld, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const gang = (id: string): ServerGroup => ({ id, policy: 'soft-affinity', maxPerHost: 1 });

async function victimsFor(vcpus: number, ...members: readonly (readonly [host: string, group?: string])[]) {
  const groups = new Map<string, string | undefined>();
  for (const [host, group] of members) {
    groups.set(await world.occupy(host, { VCPU: 2 }, group === undefined ? undefined : gang(group)), group);
  }
  const scheduler = await world.scheduler();
  const rank = { priority: 10, mayPreempt: true };
  const { response } = await scheduler.select({ resources: { VCPU: vcpus } }, 1, 0, rank);
  return (response.preemption?.victims ?? []).map(({ instanceUuid }) => groups.get(instanceUuid) ?? 'alone').toSorted();
}

it('takes two of one gang rather than one of each of two', async () => {
  await world.report('a');
  expect(await victimsFor(4, ['a', 'g1'], ['a', 'g2'], ['a', 'g2'], ['a', 'g3'])).toEqual(['g2', 'g2']);
});

it('takes instances that stand by themselves before a member of a gang', async () => {
  await world.report('a');
  expect(await victimsFor(2, ['a', 'g1'], ['a', 'g1'], ['a', 'g1'], ['a'])).toEqual(['alone']);
});

it('takes the host on which the fewest gangs lose a member', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const onA = ['g1', 'g2', 'g3', 'g4'].map((group) => ['a', group] as const);
  const onB = ['g5', 'g5', 'g6', 'g7'].map((group) => ['b', group] as const);
  expect(await victimsFor(4, ...onA, ...onB)).toEqual(['g5', 'g5']);
});
