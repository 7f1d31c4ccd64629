import { inventory } from '#libs/domain/inventory';
import { aDevice } from '#libs/testing/placement/hosts/devices';
import { parseDevices, withDevices } from './devices-shape';

const parse = (text: string) => parseDevices('BERTH_AGENT_DEVICES', text);

it('reads devices with attributes of each type, capacities, taints and what they consume, host by host', () => {
  const text =
    'gpu0 model=H100 gpu.example.com/driver=v535.1.0 numa=-1 nvlink=true label="12 x" capacity:memory=80Gi/1Gi consumers:4 taint:worn=2 taint:broken=ecc:NoExecute; card/part0 consumes:CUSTOM_SLICE=2 | ';
  const attributes = { model: 'H100', 'gpu.example.com/driver': 'v535.1.0', numa: -1, nvlink: true, label: '12 x' };
  const capacity = { memory: { amount: 80 * 2 ** 30, step: 2 ** 30 } };
  expect(parse(text)).toEqual([
    [
      {
        name: 'gpu0',
        parent: '',
        traits: [],
        inventories: { CUSTOM_DEVICE: inventory(4, { maxUnit: 1 }), CUSTOM_DEVICE_MEMORY: inventory(80) },
        device: aDevice(attributes, {
          capacity,
          consumers: 4,
          taints: { worn: '2', broken: 'ecc' },
          evicts: { broken: 0 },
        }),
      },
      {
        name: 'part0',
        parent: 'card',
        traits: [],
        inventories: { CUSTOM_DEVICE: inventory(1, { maxUnit: 1 }) },
        device: aDevice({}, { consumes: { CUSTOM_SLICE: 2 } }),
      },
    ],
    [],
  ]);
});

it.each([
  ['a/b/c x=1', 'name or parent/name'],
  ['gpu0 model', 'NAME=VALUE'],
  ['gpu0 bad*name=1', 'named by letters'],
  ['gpu0 capacity:memory=lots', 'capacity:NAME=80Gi'],
  ['gpu0 capacity:memory=80Gi/0', 'capacity:NAME=80Gi'],
  ['gpu0 consumers:0', 'consumers:N'],
  ['gpu0 consumes:slice=1', 'consumes:CLASS=N'],
])('refuses %s', (text, wanted) => {
  expect(() => parse(text)).toThrow(
    expect.objectContaining({ reason: 'bad_config', message: expect.stringContaining(wanted) }),
  );
});

it('reads the kind of a device, which is the class of its inventory', () => {
  expect(parse('gpu0 class:CUSTOM_GPU model=H100')[0]).toEqual([
    {
      name: 'gpu0',
      parent: '',
      traits: [],
      inventories: { CUSTOM_GPU: inventory(1, { maxUnit: 1 }) },
      device: aDevice({ model: 'H100' }, { resourceClass: 'CUSTOM_GPU' }),
    },
  ]);
  expect(() => parse('gpu0 class:gpu')).toThrow("'class:gpu' must be class:CUSTOM_NAME, a resource class");
});

it('puts devices below providers that have what they consume', () => {
  const card = { name: 'card', parent: '', inventories: { CUSTOM_SLICE: inventory(8) }, traits: [] };
  const [devices = []] = parse('card/part0 consumes:CUSTOM_SLICE=2');
  expect(withDevices('X', [card], devices).map(({ name }) => name)).toEqual(['card', 'part0']);
  expect(() => withDevices('X', [], devices)).toThrow("'part0' must be below the root");
  expect(() => withDevices('X', [{ ...card, inventories: {} }], devices)).toThrow(
    "'CUSTOM_SLICE' must be an inventory",
  );
  expect(() => withDevices('X', [card], [...devices, ...devices])).toThrow("'part0' must be a name that no other");
});
