import { randomUUID } from 'node:crypto';
import { referencedId } from '#libs/placement/sealed/reference';
import { aWorld, opened, type World } from '../testing/world';

let world: World;
beforeEach(async () => {
  world = aWorld();
  for (const host of ['a', 'b', 'c']) await world.report(host);
});
afterEach(() => world.close());

const REFERRING = { allocationRequests: 'reference', referenceTtlMs: 10_000 } as const;

it('has alternates refer to what the store keeps, and the host that is claimed carry it', async () => {
  const scheduler = await world.scheduler(REFERRING);
  const uuid = randomUUID();
  const { response } = await scheduler.select({ resources: { VCPU: 1 } }, [uuid], 2);
  const [destination] = response.destinations;
  const selected = destination?.selected.allocationRequest ?? new Uint8Array();
  expect(opened(scheduler, selected)).toMatchObject({ consumerUuid: uuid, host: destination?.selected.host });
  const ids = destination?.alternates.map((one) => referencedId(one.allocationRequest) ?? 'none') ?? [];
  const kept = await world.placement.allocationRequests(ids, world.clock.now());
  expect(kept.map((sealed) => opened(scheduler, sealed ?? new Uint8Array()))).toMatchObject(
    destination?.alternates.map(({ host }) => ({ consumerUuid: uuid, host })) ?? [],
  );
  expect(ids).toHaveLength(2);
  expect(destination?.alternates[0]?.allocationRequest.length).toBe(17);
  const later = world.clock.now() + 10_000;
  expect(await world.placement.allocationRequests(ids, later)).toEqual([undefined, undefined]);
});

it('answers nothing when the store does not keep them; who asks again finds the claim', async () => {
  const { placement } = world;
  const keep = placement.keepAllocationRequests.bind(placement);
  placement.keepAllocationRequests = () => Promise.reject(new Error('the store is away'));
  const uuid = randomUUID();
  const scheduler = await world.scheduler(REFERRING);
  await expect(scheduler.select({ resources: { VCPU: 1 } }, [uuid], 1)).rejects.toThrow('the store is away');
  placement.keepAllocationRequests = keep;
  const again = await scheduler.select({ resources: { VCPU: 1 } }, [uuid], 1);
  const [held] = await placement.consumers([uuid]);
  expect(again.response.destinations[0]?.claimToken).toBe(held?.claimToken);
});
