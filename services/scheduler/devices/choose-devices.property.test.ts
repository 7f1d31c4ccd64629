import * as fc from 'fast-check';
import type { Device } from '#libs/domain/devices/device';
import { deviceInventories } from '#libs/domain/devices/device';
import type { DeviceAlternative, DeviceConstraint, DeviceRequest } from '#libs/domain/devices/device-request';
import { inventory, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { aDevice, aDeviceRequest } from '#libs/testing/placement/hosts/devices';
import { chooseDevices } from './choose-devices';
import { deviceRefusal } from './device-refusal';
import { compileDevices } from './devices-asked';

const MODELS = ['A', 'B'];

/** A condition that the test decides by itself, without the expression. */
interface Condition {
  readonly text: string;
  readonly holds: (device: Device) => boolean;
}

const is =
  (name: string) =>
  (value: string | number): Condition => ({
    text: `device.attributes["${name}"] == ${typeof value === 'string' ? `"${value}"` : value}`,
    holds: ({ attributes }) => attributes[name]?.value === value,
  });
const conditions = fc.oneof(
  fc.constantFrom(...MODELS).map(is('model')),
  fc.nat(1).map(is('numa')),
  fc.constantFrom(1, 2, 3).map(
    (least): Condition => ({
      text: `device.capacity.memory >= ${least}`,
      holds: ({ capacity }) => (capacity['memory']?.amount ?? 0) >= least,
    }),
  ),
);

const devices = fc.record({
  model: fc.constantFrom(...MODELS),
  numa: fc.option(fc.nat(1), { nil: undefined }),
  memory: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  consumers: fc.constantFrom(1, 1, 2),
  isTainted: fc.constantFrom(false, false, true),
  consumes: fc.nat(2),
  parent: fc.nat(1),
  isTaken: fc.constantFrom(false, false, true),
});

type Drawn = typeof devices extends fc.Arbitrary<infer T> ? T : never;

const alternatives = fc.record({
  conditions: fc.array(conditions, { maxLength: 2 }),
  count: fc.constantFrom(1, 1, 2, 'all' as const),
  memory: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
  tolerates: fc.boolean(),
});
type Wish = typeof alternatives extends fc.Arbitrary<infer T> ? T : never;

const asks = fc.record({
  requests: fc.array(fc.array(alternatives, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  isNear: fc.boolean(),
});

const ROOT = 'root';
const row = (uuid: string, parentUuid: string | undefined, rest: Partial<Provider>): Provider => ({
  uuid,
  name: uuid,
  parentUuid,
  rootUuid: ROOT,
  generation: 0,
  inventories: {},
  traits: [],
  aggregates: [],
  createdAtMs: 0,
  updatedAtMs: 0,
  ...rest,
});

function forestOf(drawn: readonly Drawn[]) {
  const cards = ['card0', 'card1'].map((card) => row(card, ROOT, { inventories: { CUSTOM_SLICE: inventory(3) } }));
  const used = new Map<string, Resources>();
  const rows = drawn.map(({ model, numa, memory, consumers, isTainted, consumes, parent, isTaken }, n) => {
    const device = aDevice(numa === undefined ? { model } : { model, numa }, {
      consumers,
      capacity: memory === undefined ? {} : { memory: { amount: memory, step: 1 } },
      taints: isTainted ? { worn: 'yes' } : {},
      consumes: consumes === 0 ? {} : { CUSTOM_SLICE: consumes },
    });
    const uuid = `device${n}`;
    if (isTaken) used.set(uuid, { CUSTOM_DEVICE: 1 });
    return row(uuid, `card${parent}`, { device, inventories: deviceInventories(device) });
  });
  const all = [row(ROOT, undefined, {}), ...cards, ...rows];
  return {
    rows,
    tree: () => all,
    provider: (uuid: string) => all.find((one) => one.uuid === uuid),
    usage: (uuid: string) => used.get(uuid) ?? {},
  };
}
type Forest = ReturnType<typeof forestOf>;

function requestsOf({ requests, isNear }: { requests: Wish[][]; isNear: boolean }) {
  const deviceRequests: DeviceRequest[] = requests.map((wishes, n) =>
    aDeviceRequest(
      `r${n}`,
      ...wishes.map(
        (wish): Partial<DeviceAlternative> => ({
          count: wish.count,
          selectors: wish.conditions.map(({ text }) => text),
          capacity: wish.memory === undefined ? {} : { memory: wish.memory },
          tolerations: wish.tolerates ? { worn: 's== yes' } : {},
        }),
      ),
    ),
  );
  const deviceConstraints: DeviceConstraint[] = isNear ? [{ requests: [], matchAttribute: 'numa' }] : [];
  return { deviceRequests, deviceConstraints };
}

const meets = (wish: Wish, { device }: Provider) => wish.conditions.every(({ holds }) => holds(device as Device));

/** By definition: true if a choice of devices, one list for each wish, is what was asked. */
function isRight(
  chosen: readonly (readonly Provider[])[],
  wishes: readonly Wish[],
  isNear: boolean,
  forest: Forest,
): boolean {
  const taken = new Map<string, number>();
  const take = (key: string, amount: number) => taken.set(key, (taken.get(key) ?? 0) + amount);
  for (const [n, wish] of wishes.entries()) {
    const some = chosen[n] as readonly Provider[];
    const wanted = wish.count === 'all' ? forest.rows.filter((one) => meets(wish, one)).length : wish.count;
    if (some.length !== wanted || some.length === 0 || new Set(some).size !== some.length) return false;
    for (const provider of some) {
      const { consumers, taints, capacity, consumes } = provider.device as Device;
      const has = capacity['memory']?.amount;
      if (!meets(wish, provider) || (wish.memory !== undefined && (has ?? 0) < wish.memory)) return false;
      if ('worn' in taints && !wish.tolerates) return false;
      take(`${provider.uuid} CUSTOM_DEVICE`, 1);
      if (consumers > 1 && has !== undefined) take(`${provider.uuid} CUSTOM_DEVICE_MEMORY`, wish.memory ?? has);
      take(`${provider.parentUuid} CUSTOM_SLICE`, consumes['CUSTOM_SLICE'] ?? 0);
    }
  }
  const values = chosen.flat().map(({ device }) => device?.attributes['numa']?.value);
  if (isNear && (values.includes(undefined) || new Set(values).size > 1)) return false;
  return [...taken].every(([key, amount]) => {
    const [uuid = '', name = ''] = key.split(' ');
    return amount + (forest.usage(uuid)[name] ?? 0) <= (forest.provider(uuid)?.inventories[name]?.total ?? 0);
  });
}

/** Every choice of devices for the wishes, right or not. */
function* choices(wishes: readonly Wish[], rows: readonly Provider[]): Generator<Provider[][]> {
  const [, ...rest] = wishes;
  if (wishes.length === 0) return yield [];
  for (let mask = 1; mask < 2 ** rows.length; mask++) {
    const some = rows.filter((_, n) => (mask >> n) & 1);
    for (const others of choices(rest, rows)) yield [some, ...others];
  }
}

it('chooses only what was asked, the first alternatives that there is a way for, and finds a way if there is one', () => {
  let [found, refused, alternative] = [0, 0, 0];
  fc.assert(
    fc.property(fc.array(devices, { minLength: 1, maxLength: 4 }), asks, (drawn, asked) => {
      const forest = forestOf(drawn);
      const compiled = compileDevices(requestsOf(asked));
      const choice = chooseDevices(compiled, forest, ROOT);
      const combinations = combine(asked.requests);
      const first = combinations.find((wishes) =>
        [...choices(wishes, forest.rows)].some((chosen) => isRight(chosen, wishes, asked.isNear, forest)),
      );
      if (choice === undefined) refused += 1;
      expect(choice === undefined).toBe(first === undefined);
      if (!choice || !first) return;
      found += 1;
      if (first !== combinations[0]) alternative += 1;
      const chosen = compiled.requests.map(({ alternatives: all }, n) => {
        const place = asked.requests[n]?.indexOf(first[n] as Wish) ?? -1;
        return (choice.mappings[all[place]?.suffix ?? ''] ?? []).map((uuid) => forest.provider(uuid) as Provider);
      });
      expect(isRight(chosen, first, asked.isNear, forest)).toBe(true);
      for (const request of compiled.requests) expect(deviceRefusal(request, forest, ROOT)).toBeUndefined();
    }),
    { numRuns: 1_500 },
  );
  expect(Math.min(found, refused)).toBeGreaterThan(200);
  expect(alternative).toBeGreaterThan(20);
});

/** One wish of each request, those of earlier requests changing last. */
function combine(requests: readonly (readonly Wish[])[]): Wish[][] {
  const [wishes, ...rest] = requests;
  if (!wishes) return [[]];
  return wishes.flatMap((wish) => combine(rest).map((others) => [wish, ...others]));
}

it('refuses by one request alone only where brute force finds no way for it, and by a condition only what would help', () => {
  let conditionCount = 0;
  fc.assert(
    fc.property(fc.array(devices, { minLength: 1, maxLength: 4 }), asks, (drawn, { requests: [wishes = []] }) => {
      const forest = forestOf(drawn);
      const canMeet = (all: readonly Wish[]) =>
        all.some((wish) => [...choices([wish], forest.rows)].some((chosen) => isRightApart(chosen, wish, forest)));
      const [request] = compileDevices(requestsOf({ requests: [wishes], isNear: false })).requests;
      const refusal = request && deviceRefusal(request, forest, ROOT);
      expect(refusal === undefined).toBe(canMeet(wishes));
      if (refusal?.kind !== 'condition') return;
      conditionCount += 1;
      const without = wishes.map((wish) => ({
        ...wish,
        count: wish.count === 'all' ? 1 : wish.count,
        conditions: wish.conditions.filter(({ text }) => text !== refusal.condition.text),
      }));
      expect(canMeet(without)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
  expect(conditionCount).toBeGreaterThan(50);
});

/** As `isRight`, each device by itself: that they share counters is for the search. */
function isRightApart([some = []]: readonly (readonly Provider[])[], wish: Wish, forest: Forest): boolean {
  const wanted = wish.count === 'all' ? forest.rows.filter((one) => meets(wish, one)).length : wish.count;
  return some.length === wanted && some.every((one) => isRight([[one]], [{ ...wish, count: 1 }], false, forest));
}
