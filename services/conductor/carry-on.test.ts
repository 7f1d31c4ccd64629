import type { Bus } from '#libs/bus/port';
import { queueName } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { Running } from '#libs/runtime/service';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { ConductorDeps } from './context';
import { ConductorWorld } from './testing/conductor-world';

/* An operation is on record when its scheduler does not answer: what comes next does not wait for the record's deadline. */

const SCHEDULING_TIMEOUT_MS = 60_000;
const SELECT_TIMEOUT_MS = 5_000;

let world: ConductorWorld;
let conductor: Running;
let isSilent = false;
let casts: jest.SpiedFunction<Bus['cast']>;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 4, h2: 4 });
  isSilent = false;
  conductor = await world.conductor(
    (deps: ConductorDeps) => {
      const call = deps.bus.call.bind(deps.bus);
      const consume = deps.bus.consume.bind(deps.bus);
      casts = jest.spyOn(deps.bus, 'cast');
      jest.spyOn(deps.bus, 'consume').mockImplementation((queue, handle, options) => {
        return consume(queue, (message) => handle(Object.create(message, { redelivered: { value: true } })), options);
      });
      jest.spyOn(deps.bus, 'call').mockImplementation(async (...args) => {
        if (isSilent) throw new BerthError('deadline_exceeded', 'no_answer', 'schedulers are silent');
        return call(...args);
      });
      return deps;
    },
    {
      BERTH_CONDUCTOR_SCHEDULING_TIMEOUT_MS: String(SCHEDULING_TIMEOUT_MS),
      BERTH_CONDUCTOR_SELECT_TIMEOUT_MS: String(SELECT_TIMEOUT_MS),
    },
  );
  await world.request();
  await world.clock.advance(0);
});
afterEach(() => world.closed(conductor));

it.each([
  ['resize', 'verify_resize', { resizeTo: aRequestSpec({ resources: { VCPU: 2 } }) }],
  ['migrate', 'verify_resize', {}],
  ['live_migrate', 'active', {}],
] as const)('goes on with %s by its repeated call', async (operation, state, options) => {
  const { uuid, version } = await world.only();
  isSilent = true;
  await expect(world.operate(uuid, operation, version, options)).rejects.toMatchObject({ reason: 'no_answer' });
  isSilent = false;
  await world.operate(uuid, operation, version, options);
  await world.clock.advance(0);
  expect(await world.only()).toMatchObject({ state });
});

it('orders nothing again for a repeated call', async () => {
  const { uuid, version } = await world.only();
  world.behaviour.set('h1', 'is silent');
  for (let calls = 0; calls < 3; calls++) await world.operate(uuid, 'stop', version);
  await world.clock.advance(0);
  expect(world.powerOrders).toHaveLength(1);
});

it('tries again by the sweep as soon as schedulers may have answered', async () => {
  const { uuid } = await world.only();
  await Promise.all([world.operate(uuid, 'shelve'), world.clock.advance(0)]);
  const { version } = await world.only();
  isSilent = true;
  await expect(world.operate(uuid, 'unshelve', version)).rejects.toMatchObject({ reason: 'no_answer' });
  await world.clock.advance(SCHEDULING_TIMEOUT_MS + SELECT_TIMEOUT_MS);
  isSilent = false;
  await world.clock.advance(2 * SELECT_TIMEOUT_MS);
  expect(await world.only()).toMatchObject({ state: 'active' });
});

describe('copies of a message, each with a forged count of deliveries', () => {
  const ordered = () => casts.mock.calls.filter(([queue]) => queueName(queue) === 'agent.h1').length;

  beforeEach(() => world.behaviour.set('h1', 'is dead'));

  it('order a build again once', async () => {
    const requestId = await world.request();
    await world.clock.advance(0);
    const before = ordered();
    for (let copies = 0; copies < 5; copies++) {
      await world.request(1, requestId);
      await world.clock.advance(0);
    }
    expect(ordered() - before).toBe(1);
  });

  it('order a destruction again once', async () => {
    const { uuid } = await world.only();
    await world.terminate(uuid);
    await world.clock.advance(0);
    const before = ordered();
    for (let copies = 0; copies < 5; copies++) {
      await world.terminate(uuid);
      await world.clock.advance(0);
    }
    expect(ordered() - before).toBe(1);
  });
});
