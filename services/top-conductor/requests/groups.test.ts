import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { InstanceRow } from '#libs/domain/instance';
import { groupKey } from '#libs/domain/server-group';
import { Mirror } from '#libs/placement/mirror/mirror';
import { silentLog } from '#libs/runtime/log';
import { chosen, TopWorld } from '../testing/top-world';

let world: TopWorld;

const stored = { projectId: 'project-1', metadata: {}, createdAtMs: 1, memberCount: 0, maxPerHost: 1 } as const;

beforeEach(async () => {
  world = new TopWorld();
  world.groups = [
    { ...stored, name: 'web', policy: 'affinity' },
    { ...stored, name: 'db', policy: 'anti-affinity', maxPerHost: 2 },
  ];
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.open();
});
afterEach(() => world.close());

const of = (id: string) => ({ group: { id, policy: undefined, maxPerHost: 0 } }) as const;

async function request(id: string): Promise<InstanceRow | undefined> {
  const requestId = await world.request(1, of(id));
  return (await world.instances.list({ requestId }, undefined, 1))[0];
}

it('cells are told the rules of a group of the fleet, under a name that is none of their own', async () => {
  await request('db');
  const spec = world.a.requests[0]?.requestSpec;
  const group = { id: 'top:db', policy: 'anti-affinity', maxPerHost: 2 };
  expect(spec && requestSpecCodec.decode(spec).group).toMatchObject(group);
  expect(await world.refusal(of('none'))).toMatchObject({ reason: 'no_such_group' });
});

it('members of a group are on record with their cells', async () => {
  const instance = await request('db');
  const { clock, random } = world;
  const mirror = await Mirror.open(world.placement, { clock, random, log: silentLog });
  expect([...mirror.groupMembers(groupKey('project-1', 'db'))]).toEqual([instance?.uuid]);
  expect(mirror.consumer(instance?.uuid ?? '')?.groupHost).toBe('a');
  const closing = mirror.close();
  await clock.advance(5_000);
  await closing;
});

it('members of an affinity group that were sent to two cells at once end up in one', async () => {
  await request('web');
  // A scheduler of the top that has not seen the first.
  world.select = ({ instanceUuids }) => chosen('b', instanceUuids);
  const second = await request('web');
  expect(second).toMatchObject({ state: 'scheduling', fault: { reason: 'group_elsewhere' } });
  expect(world.b.requests).toEqual([]);
  expect(world.b.released).toEqual([second?.uuid]);
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.clock.advance(30_000);
  expect((await world.instances.get([second?.uuid ?? '']))[0]?.cell?.name).toBe('a');
});

it('members of an anti-affinity group may be in any cells', async () => {
  await request('db');
  world.select = ({ instanceUuids }) => chosen('b', instanceUuids);
  expect(await request('db')).toMatchObject({ cell: { name: 'b' } });
});
