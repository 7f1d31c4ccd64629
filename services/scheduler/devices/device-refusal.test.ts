import { MAX_REQUEST_COST, requireSelectors } from '#libs/devices/require-selectors';
import type { Selector } from '#libs/devices/selector';
import type { Device } from '#libs/domain/devices/device';
import { inventory } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { DeviceForest } from './choose-devices';
import { deviceRefusal } from './device-refusal';
import { compileDevices } from './devices-asked';

const device = (model: string): Device => ({
  attributes: { model: { kind: 'string', value: model } },
  capacity: {},
  consumers: 1,
  taints: {},
  consumes: {},
});

function hostWith(devices: readonly Device[]): DeviceForest {
  const tree = devices.map(
    (one, n) =>
      ({
        uuid: `${n}`,
        name: `h:${n}`,
        inventories: { CUSTOM_DEVICE: inventory(1) },
        device: one,
      }) as unknown as Provider,
  );
  return { tree: () => tree, provider: (uuid) => tree[Number(uuid)], usage: () => ({}) };
}

const asked = (alternatives: readonly (readonly string[])[]) => ({
  deviceRequests: [
    {
      name: 'gpu',
      firstAvailable: alternatives.map((selectors, n) => ({
        name: `a${n}`,
        count: 1,
        tolerations: {},
        capacity: {},
        selectors,
      })),
    },
  ],
  deviceConstraints: [],
});

it('evaluates each condition once for each device of a host, however many conditions fail', () => {
  const forest = hostWith(['A', 'B', 'C', 'D'].map(device));
  const evaluated = { count: 0 };
  const conditions = Array.from({ length: 100 }, (_, n): Selector => {
    return { text: `${n}`, matches: () => ++evaluated.count > 0 && n < 98 };
  });
  const request = { name: 'gpu', alternatives: [{ suffix: '', count: 1, tolerations: {}, capacity: {}, conditions }] };
  expect(deviceRefusal(request, forest, 'r')).toEqual({ kind: 'absent' });
  expect(evaluated.count).toBeLessThanOrEqual(4 * 100);
});

it.each([
  [['device.attributes.model == "A"', 'true'], 0],
  [['true', 'device.attributes.model == "A"'], 1],
  // Given twice, it is one condition.
  [['device.attributes.model == "A"', 'device.attributes.model == "A"'], 0],
])('names the one condition without which a host has enough: of %j the one at %i', (selectors, place) => {
  const [request] = compileDevices(asked([selectors])).requests;
  const refusal = request && deviceRefusal(request, hostWith([device('B')]), 'r');
  expect(refusal).toMatchObject({ kind: 'condition', place });
});

it('refuses a request whose expressions cost too much together', () => {
  const dear = `device.attributes.all(a, ${Array.from({ length: 9 }, () => 'a == "x"').join(' || ')})`;
  const alternatives = Array.from({ length: 8 }, () => [dear]);
  expect(() => requireSelectors(asked(alternatives), 'request_spec', 1)).toThrow(`more than ${MAX_REQUEST_COST} for`);
  expect(() => requireSelectors(asked(alternatives.slice(0, 1)), 'request_spec', 1)).not.toThrow();
});
