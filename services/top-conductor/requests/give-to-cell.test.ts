import type { BuildRequest } from '#libs/contracts/conductor';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { SelectDestinationsRequest, SelectDestinationsResponse } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { MAX_SCHEDULING_MS } from '#libs/domain/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { chosen, refusedBy, TopWorld } from '../testing/top-world';

let world: TopWorld;

beforeEach(async () => {
  world = new TopWorld();
  await world.open();
});
afterEach(() => world.close());

it('gives a request to the cell that was chosen, with what was selected there', async () => {
  world.select = ({ instanceUuids }) => chosen('b', instanceUuids);
  await world.request(2);
  expect(world.a.requests).toEqual([]);
  expect(world.b.requests).toMatchObject([
    { count: 2, name: 'web', destinations: [{ claimToken: 1 }, { claimToken: 2 }] },
  ]);
  expect((await world.all()).map(({ cell }) => cell?.name)).toEqual(['b', 'b']);
});

describe('a gang that is whole in one cell', () => {
  const workers = { requestSpec: anEncodedSpec({ resources: { VCPU: 2 } }), count: 2, minCount: 1, name: 'worker' };

  async function asked(fields: Partial<BuildRequest>): Promise<readonly SelectDestinationsRequest[]> {
    const calls: SelectDestinationsRequest[] = [];
    world.select = (request) => {
      calls.push(request);
      const further = request.furtherKinds?.flatMap(({ instanceUuids }) => instanceUuids) ?? [];
      return chosen('b', [...request.instanceUuids, ...further]);
    };
    await world.request(1, {}, fields);
    return calls;
  }

  it('is asked for and handed over with all of its kinds', async () => {
    const [call] = await asked({ furtherMembers: [workers], onLoss: 'restore' });
    expect(call).toMatchObject({ inOneCell: true, minCount: 1, furtherKinds: [{ minCount: 1 }] });
    expect(call?.furtherKinds?.[0]?.instanceUuids).toHaveLength(2);
    const [request] = world.b.requests;
    expect(request).toMatchObject({
      count: 1,
      minCount: 1,
      onLoss: 'restore',
      furtherMembers: [{ count: 2, minCount: 1, name: 'worker' }],
    });
    expect(request?.instanceUuids).toHaveLength(3);
    expect(request?.destinations).toHaveLength(3);
    const spec = requestSpecCodec.decode(request?.furtherMembers?.[0]?.requestSpec ?? new Uint8Array());
    expect(spec.resources).toEqual({ VCPU: 2 });
    expect((await world.all()).map(({ cell }) => cell?.name)).toEqual(['b', 'b', 'b']);
  });

  it('is refused where kinds belong to several projects', async () => {
    const others = { ...workers, requestSpec: anEncodedSpec({ projectId: 'another' }) };
    expect(await asked({ furtherMembers: [others] })).toEqual([]);
    expect(await world.all()).toEqual([]);
  });
});

it('what no cell takes is in ERROR; what an unreachable cell could take waits for it first', async () => {
  world.select = () => refusedBy('cell_capacity');
  await world.request();
  expect(await world.only()).toMatchObject({ state: 'error', fault: { reason: 'no_valid_host' } });
  world.select = () => refusedBy('cell_reachable');
  const requestId = await world.request();
  const [waiting] = await world.instances.list({ requestId }, undefined, 1);
  expect(waiting).toMatchObject({ state: 'scheduling', fault: { message: 'no cell' } });
  await world.clock.advance(30_000);
  expect(await world.instances.get([waiting?.uuid ?? ''])).toMatchObject([{ state: 'error' }]);
});

it('counts a request as unavailable each time that something it needs is away, and as failed when an error ends it', async () => {
  const throws = (code: BerthError['code']) => () => {
    throw new BerthError(code, 'scripted', 'no');
  };
  jest.spyOn(world.instances, 'create').mockImplementationOnce(throws('unavailable'));
  world.select = throws('unavailable');
  await world.request();
  await world.clock.advance(100);
  world.select = throws('invalid_argument');
  await world.clock.advance(5_000);
  expect(await world.only()).toMatchObject({ state: 'error' });
  const counted = (await world.metrics.expose()).match(/^berth_top_requests_total.*/gm);
  expect(counted).toEqual([
    'berth_top_requests_total{outcome="unavailable"} 2',
    'berth_top_requests_total{outcome="failed"} 1',
  ]);
});

it('ends what no scheduler of the top has answered for in a day', async () => {
  world.select = () => {
    throw new BerthError('unavailable', 'no_scheduler', 'none runs');
  };
  await world.request();
  const record = await world.only();
  const createdAtMs = world.clock.now() - MAX_SCHEDULING_MS + 60_000;
  await world.instances.update({ ...record, createdAtMs, version: record.version + 1 });
  await world.clock.advance(40_000);
  expect(await world.only()).toMatchObject({ state: 'scheduling', fault: { reason: 'no_scheduler' } });
  await world.clock.advance(40_000);
  expect(await world.only()).toMatchObject({ state: 'error', fault: { reason: 'not_scheduled' } });
});

it('tries a request again in hand while its store is away, not round and round its queue', async () => {
  const away = () => {
    throw new BerthError('unavailable', 'store_away', 'away');
  };
  const create = jest.spyOn(world.instances, 'create').mockImplementation(away);
  await world.request();
  await world.clock.advance(120_000);
  expect(create.mock.calls.length).toBeLessThan(60);
  create.mockRestore();
  await world.clock.advance(10_000);
  expect(await world.all()).toHaveLength(1);
});

it.each<[string, () => SelectDestinationsResponse]>([
  ['a selection that fails', () => refusedBy('cell_capacity')],
  [
    'an error',
    () => {
      throw new BerthError('invalid_argument', 'scripted', 'no');
    },
  ],
])('%s, which comes after another conductor has handed over, ends nothing', async (_what, late) => {
  let answerLate = () => {};
  const held = new Promise<void>((resolve) => {
    answerLate = resolve;
  });
  world.select = async () => {
    await held;
    return late();
  };
  await world.request();
  const record = await world.only();
  const cell = { name: 'a', version: 0, isHandedOver: true, isEnding: false };
  await world.instances.update({ ...record, cell, version: record.version + 1 });
  answerLate();
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state: 'scheduling', fault: undefined, cell });
});

it('a selection that fails late does not end what another conductor is about to hand over', async () => {
  world.select = async () => {
    const record = await world.only();
    const cell = { name: 'b', version: 0, isHandedOver: false, isEnding: false };
    await world.instances.update({ ...record, cell, version: record.version + 1 });
    return refusedBy('cell_capacity');
  };
  await world.request();
  expect(await world.only()).toMatchObject({ state: 'scheduling', cell: { name: 'b' } });
});

it('an instance that was left apart from the others of its request comes to their cell by a request of its own', async () => {
  world.select = ({ instanceUuids }) => chosen('a', instanceUuids);
  await world.request(2);
  const [first, second] = await world.all();
  if (!first || !second) throw new Error('there are no instances');
  // Simulates that a conductor died before it recorded the cell of the second, and another continued with the first.
  const apart = { cell: undefined, dueAtMs: world.clock.now(), version: second.version + 1 };
  await world.instances.update({ ...second, ...apart });
  await world.clock.advance(2_000);
  const late = world.a.requests.at(-1);
  expect(late).toMatchObject({ instanceUuids: [second.uuid], count: 1 });
  expect(late?.requestId).not.toBe(second.requestId);
  expect((await world.instances.get([second.uuid]))[0]?.cell).toMatchObject({ name: 'a', requestId: late?.requestId });
  if (late) await world.a.says({ ...second, requestId: late.requestId }, {});
  await world.clock.advance(5_000);
  expect((await world.instances.get([second.uuid]))[0]?.state).toBe('active');
});
