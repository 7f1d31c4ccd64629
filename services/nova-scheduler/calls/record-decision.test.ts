import { inventory } from '#libs/domain/inventory';
import { aWorld, instance } from '../testing/world';

let world: Awaited<ReturnType<typeof aWorld>>;
afterEach(() => world.close());

const SMALL = { VCPU: inventory(8), MEMORY_MB: inventory(2_048), DISK_GB: inventory(100) };

it("keeps a decision as Berth's schedulers do: the host, the weights of the best, why not the others", async () => {
  world = await aWorld([{}, { inventories: SMALL }, { isUp: false }, { inventories: {} }]);
  expect(await world.hosts()).toEqual([['h1', 'h2']]);
  const decision = await world.decision(instance(1));
  expect(decision).toMatchObject({
    requestId: instance(1),
    projectId: 'project',
    selected: { [instance(1)]: 'h1' },
    diagnosis: {
      hostsConsidered: 4,
      hostsPassed: 2,
      summary: '2 of 4 hosts pass',
      filters: [
        { filter: 'ComputeFilter', refused: 1, reasons: { 'its nova-compute is down': 1 } },
        { filter: 'placement', refused: 1, reasons: { 'no allocation candidate': 1 } },
      ],
    },
  });
  const [best, next] = decision?.hosts ?? [];
  expect([best?.host, next?.host]).toEqual(['h1', 'h2']);
  expect(best?.weights).toEqual({ CPUWeigher: 1, RAMWeigher: 1, DiskWeigher: 1 });
  expect(next?.weight).toBeLessThan(best?.weight ?? 0);
});

it('keeps why there was no valid host', async () => {
  world = await aWorld([{}, { isUp: false }]);
  const reason = await world.refusal({ vcpus: 1_000 });
  const decision = await world.decision(instance(1));
  expect(decision).toMatchObject({ selected: {}, hosts: [], diagnosis: { summary: reason, hostsPassed: 0 } });
  expect(decision?.diagnosis.filters).toEqual([
    { filter: 'placement', refused: 2, reasons: { 'too little VCPU is free': 2 } },
  ]);
});

it('keeps each host that a request of several instances got', async () => {
  world = await aWorld([{}, {}]);
  await world.hosts({}, { instance_uuids: [instance(1), instance(2)] });
  expect((await world.decision(instance(2)))?.selected).toEqual({ [instance(1)]: 'h1', [instance(2)]: 'h2' });
});

it('keeps nothing for a caller that names no instance', async () => {
  world = await aWorld([{}]);
  await world.hosts({}, { instance_uuids: null });
  expect(await world.decision(instance(1))).toBeUndefined();
});

it('keeps a decision for its request, by the id that Nova gave it', async () => {
  world = await aWorld([{}]);
  const uuid = '0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a';
  await world.select({}, {}, { request_id: `req-${uuid}` });
  expect(await world.decision(uuid)).toMatchObject({ requestId: uuid, selected: { [instance(1)]: 'h1' } });
});
