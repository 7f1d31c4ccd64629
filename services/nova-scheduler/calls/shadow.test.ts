import { setImmediate as othersTurn } from 'node:timers/promises';
import { aNovaSpec, type SpecFields } from '../testing/nova-spec';
import { aWorld, instance, uuidOf } from '../testing/world';
import { outcomeOf, shadowCall } from './shadow';

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

async function shadowOf(host: number | undefined, settings = {}, asked: SpecFields = {}) {
  world = await aWorld([{}, {}, {}, { isUp: false }], settings);
  const logged: Record<string, unknown>[] = [];
  const log = { ...world.deps.log, info: (fields: object) => void logged.push(fields as Record<string, unknown>) };
  const call = shadowCall({ ...world.deps, log }, new AbortController().signal);
  const args = { spec_obj: aNovaSpec(asked), instance_uuids: [instance(1)], return_objects: true };
  const request = { method: 'select_destinations', version: '4.5', context: {}, namespace: undefined };
  const done = call(args, { ...request, args, uniqueId: undefined, replyTo: undefined });
  // It has decided, and waits for the other's claim.
  await othersTurn();
  if (host !== undefined) {
    const allocations = { [uuidOf(host)]: { MEMORY_MB: 256 } };
    const consumer = {
      uuid: instance(1),
      projectId: 'p',
      userId: 'u',
      consumerType: undefined,
      owner: 'api',
      allocations,
    };
    await world.commit({
      kind: 'write_allocations',
      consumers: [{ ...consumer, mappings: {}, expect: { kind: 'any' } }],
    });
  } else await world.clock.advance(31_000);
  await done;
  return logged;
}

it('claims nothing, and says nothing where both choose the same host', async () => {
  expect(await shadowOf(1)).toEqual([]);
  expect((await world.held(instance(1)))?.allocations).toEqual({ [uuidOf(1)]: { MEMORY_MB: 256 } });
});

it.each([
  [2, 'alternate', 'h2 suits and weighs less'],
  [4, 'different', 'its nova-compute is down'],
  [undefined, 'only_berth', 'Nova claimed nothing'],
])('says why when Nova chooses host %s', async (host, outcome, why) => {
  expect(await shadowOf(host)).toEqual([expect.objectContaining({ outcome, why: expect.stringContaining(why) })]);
});

it('says nothing where neither finds a host', async () => {
  expect(await shadowOf(undefined, {}, { vcpus: 1_000 })).toEqual([]);
});

it('tells apart who found a host', () => {
  expect([outcomeOf([], undefined), outcomeOf([], 'a'), outcomeOf(['a'], undefined)]).toEqual([
    'neither',
    'only_nova',
    'only_berth',
  ]);
});
