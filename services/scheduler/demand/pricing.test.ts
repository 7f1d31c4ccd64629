import { randomUUID } from 'node:crypto';
import { aWorld, classified, type World } from '../testing/world';
import { NO_PRICES } from './prices';
import { Pricing } from './pricing';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** A fleet, and prices by what is asked for on it. */
async function aMarket(hostCount: number) {
  for (let n = 0; n < hostCount; n++) await world.report(`host-${n}`);
  const scheduler = await world.scheduler();
  let isInUse = true;
  const pricing = new Pricing(() => isInUse);
  const after = (instances: number, vcpus = 1) => {
    const { equivalenceClass } = classified({ resources: { VCPU: vcpus } });
    const asked = Array.from({ length: instances }, () => randomUUID());
    pricing.note(equivalenceClass, asked, scheduler.fleet.snapshot(world.clock.now()));
    return pricing.prices;
  };
  const occupy = async (host: string, vcpus: number) => {
    await world.occupy(host, { VCPU: vcpus });
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  };
  return { after, occupy, use: (isUsed: boolean) => (isInUse = isUsed) };
}

it('keeps prices while neither the demand nor what fits changes, however many are asked for', async () => {
  const { after } = await aMarket(3);
  const first = after(1);
  expect(first.shapes.map(({ fits }) => fits)).toEqual([24, 3]);
  for (let times = 0; times < 50; times++) expect(after(10)).toBe(first);
});

it('renews prices once the last rooms of a shape go, at the tenth instance', async () => {
  const { after, occupy } = await aMarket(3);
  const first = after(1);
  await occupy('host-0', 1);
  expect(after(9)).toBe(first);
  expect(after(1).shapes.map(({ fits }) => fits)).toEqual([23, 2]);
});

it('does not renew them for one room of many', async () => {
  const { after, occupy } = await aMarket(30);
  const first = after(1);
  await occupy('host-0', 1);
  expect(after(10)).toBe(first);
});

it('renews prices for shapes that have none, as soon as they are more than a few', async () => {
  const { after } = await aMarket(3);
  const first = after(1_000);
  expect(after(4, 2)).toBe(first);
  expect(after(10, 2).shapes.map(({ resources }) => resources['VCPU'])).toEqual([1, 2, 8]);
});

it('renews prices when the mix shifts', async () => {
  const { after } = await aMarket(3);
  after(100);
  const before = after(100, 2);
  for (let n = 0; n < 50; n++) after(100, 2);
  expect(after(10, 2)).not.toBe(before);
});

it('looks at them after a quarter as many instances as there are hosts', async () => {
  const { after, occupy } = await aMarket(60);
  const first = after(1);
  for (let n = 0; n < 59; n++) await occupy(`host-${n}`, 1);
  expect(after(14)).toBe(first);
  expect(after(1).shapes.map(({ fits }) => fits)).toEqual([421, 1]);
});

it('makes none where nothing weighs them', async () => {
  const { after, use } = await aMarket(3);
  use(false);
  expect(after(1)).toBe(NO_PRICES);
  use(true);
  expect(after(10)).not.toBe(NO_PRICES);
});
