import * as fc from 'fast-check';
import type { Device } from '../domain/devices/device';
import { MAX_COST, parseSelectors } from './selector';

const H100: Device = {
  attributes: {
    model: { kind: 'string', value: 'H100' },
    'gpu.example.com/driver': { kind: 'version', value: '535.10.1' },
    numa: { kind: 'int', value: 1 },
    nvlink: { kind: 'bool', value: true },
  },
  capacity: { memory: { amount: 80 * 2 ** 30, step: 1 } },
  consumers: 1,
  taints: {},
  consumes: {},
};

const valuesOf = (text: string, device = H100) => parseSelectors(text).map((one) => one.matches(device));

it.each([
  ['device.attributes["model"] == "H100"', true],
  ['device.attributes.model in ["A100", "H100"]', true],
  ['device.attributes["model"].startsWith("A")', false],
  ['device.capacity["memory"] >= quantity("80Gi")', true],
  ['device.capacity.memory > quantity("80Gi")', false],
  ['device.attributes["gpu.example.com/driver"] >= semver("535.9.0")', true],
  ['device.attributes["gpu.example.com/driver"] == semver("535.10.1")', true],
  ['device.attributes["gpu.example.com/driver"] != semver("535.10.1")', false],
  ['device.attributes["gpu.example.com/driver"] < semver("535.10.1-rc.1")', false],
  ['device.attributes.nvlink', true],
  ['device.attributes.numa == 1', true],
  ['["A", "H"].exists(x, device.attributes.model.startsWith(x))', true],
  ['device.capacity.all(name, device.capacity[name] > 0)', true],
  ['has(device.attributes.cores)', false],
  ['device.attributes.model == 1', false],
  ['device.attributes.model == "A100" || device.attributes.numa == 1', true],
])('%s is %s', (text, value) => {
  expect(valuesOf(text)).toEqual([value]);
});

it.each([
  ['device.attributes["cores"] > 1', 'No such key: cores'],
  ['device.attributes["constructor"] == 1', 'No such key: constructor'],
  ['device.attributes.model >= 1', 'no such overload: dyn<string> >= int'],
  ['device.attributes.numa', 'it is no bool'],
  ['device.attributes.model == "x" || device.attributes.none', 'No such key: none'],
])('%s has no value, and says why', (text, why) => {
  expect(valuesOf(text)).toEqual([why]);
});

it('splits an expression at its outermost conjunctions, each in the words of the request', () => {
  const text = 'device.attributes.model == "H100" && (device.attributes.numa == 2 || "&&" == "x") && true';
  expect(parseSelectors(text).map((one) => [one.text, one.matches(H100)])).toEqual([
    ['device.attributes.model == "H100"', true],
    ['device.attributes.numa == 2 || "&&" == "x"', false],
    ['true', true],
  ]);
});

it.each([
  ['1 + 1', 'it is a int, not a bool'],
  ['device.name == "x"', 'No such key: name'],
  ['host.name == "x"', 'Unknown variable: host'],
  ['device.attributes.model.matches("(a+)+$")', 'matches() is not offered'],
  ['cel.bind(x, "aa", x + x == "")', 'bind() is not offered'],
  ['[1].map(x, x) == [1]', 'map() is not offered'],
  ['device.attributes.model ==', 'Unexpected token: EOF'],
  [`[${'1,'.repeat(300)}1] == []`, 'Exceeded maxAstNodes (200)'],
  ['device.capacity.all(a, device.capacity.all(b, device.capacity.all(c, a == b)))', `more than ${MAX_COST}`],
  ['('.repeat(60) + 'true' + ')'.repeat(60), 'maxDepth'],
  ['[[1, 2]].exists(a, [a + a].exists(b, size(b) > 0))', 'a list is offered only as'],
  ['["ab"].exists(a, [a + a].exists(b, b == ""))', 'a variable of exists() or all() can not be added'],
  ['["ab"].exists(a, [(true ? a : "") + "b"].exists(b, b == ""))', 'a variable of exists() or all() can not be added'],
  ['["ab"].exists(device, [device + device].exists(device, device == ""))', 'a variable can not be called device'],
  ['(true ? [1] : [2]).exists(a, a == 1)', 'a list is offered only as'],
  ['[1] + [2] == [1, 2]', 'a list is offered only as'],
  ['{"a": 1}.exists(a, a == "a")', 'a map is offered only as'],
])('%s is refused', (text, problem) => {
  expect(() => parseSelectors(text)).toThrow(problem);
});

it('refuses or evaluates any text, and takes as long for none as to notice', () => {
  const words = [
    'device.attributes',
    '["model"]',
    '.numa',
    '.all(x, ',
    ')',
    '[',
    ']',
    '&&',
    '||',
    '!',
    '"H100"',
    '1',
    ' == ',
    '(',
    'quantity("1Gi")',
  ];
  const texts = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.array(fc.constantFrom(...words), { maxLength: 14 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const values = valuesOrRefusal(text).map((value) => typeof value);
      expect(values.every((type) => type === 'boolean' || type === 'string')).toBe(true);
    }),
    { numRuns: 500 },
  );
});

function valuesOrRefusal(text: string): readonly unknown[] {
  try {
    return valuesOf(text);
  } catch (thrown) {
    return [(thrown as Error).message];
  }
}
