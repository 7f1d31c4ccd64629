import { deviceRequestsOf, parseDeviceFlag, parseDeviceMatch } from './device-flag';

it('reads a request for devices; all that follows select= is the expression', () => {
  const text =
    'name=gpu,count=2,capacity=memory:10Gi,tolerate=worn:>= 2,select=device.attributes["model"] in ["a", "b"]';
  expect(parseDeviceFlag(text)).toEqual({
    request: 'gpu',
    alternative: {
      count: 2,
      capacity: { memory: 10 * 2 ** 30 },
      tolerations: { worn: '>= 2' },
      selectors: ['device.attributes["model"] in ["a", "b"]'],
    },
  });
  expect(parseDeviceFlag('tolerate=worn:*:300s').alternative).toMatchObject({
    tolerations: { worn: '*' },
    tolerationSeconds: { worn: 300 },
  });
  expect(parseDeviceFlag('count=all').alternative.count).toBe('all');
  expect(parseDeviceFlag('select=true')).toMatchObject({ request: 'device', alternative: { selectors: ['true'] } });
});

it('takes those of one name as alternatives, in their order', () => {
  const flags = ['name=gpu,select=a', 'name=nic', 'name=gpu,count=2,select=b'].map(parseDeviceFlag);
  expect(
    deviceRequestsOf(flags).map(({ name, firstAvailable }) => [
      name,
      firstAvailable.map((one) => [one.name, one.count]),
    ]),
  ).toEqual([
    [
      'gpu',
      [
        ['1', 1],
        ['2', 2],
      ],
    ],
    ['nic', [['', 1]]],
  ]);
});

it('reads an attribute that must be the same, of all requests or of some', () => {
  expect(parseDeviceMatch('numa')).toEqual({ matchAttribute: 'numa', requests: [] });
  expect(parseDeviceMatch('gpu.example.com/root:gpu,nic')).toEqual({
    matchAttribute: 'gpu.example.com/root',
    requests: ['gpu', 'nic'],
  });
});

it.each([
  ['name=A', "'A' must be up to 32 letters"],
  ['count=0', ''],
  ['colour=red', "'colour=red' is none of"],
  ['capacity=memory', "'memory' must be NAME:AMOUNT"],
  ['tolerate=worn', "'worn' must be KEY:VALUE"],
  ['select=', 'select= must be an expression'],
])('refuses %s', (text, problem) => {
  expect(() => parseDeviceFlag(text)).toThrow(problem);
});
