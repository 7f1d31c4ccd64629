import { processorMs } from '#libs/testing/processor-time';
import type { Schema } from '../schemas/parts';
import { exactly, integer, keyed, text, uuid } from '../schemas/parts';
import { whyInvalid } from './validate';

/** The first line of the message. */
function told(value: unknown, schema: Schema): string | undefined {
  return whyInvalid(value, schema)?.split('\n')[0];
}

const thing = exactly({ total: { ...integer, minimum: 1 }, name: { ...text, pattern: '^[A-Z]+$', minLength: 1 } }, [
  'total',
]);

test('what meets its schema is valid', () => {
  expect(whyInvalid({ total: 1, name: 'A' }, thing)).toBeUndefined();
});

test('a fault is told with the part of the schema that says so and where it is, as in Python', () => {
  expect(whyInvalid({ total: 0 }, thing)).toBe(
    [
      '0 is less than the minimum of 1',
      "Failed validating 'minimum' in schema['properties']['total']:\n    {'type': 'integer', 'minimum': 1}",
      "On instance['total']:\n    0",
    ].join('\n\n'),
  );
});

test('the fault nearest to the root is told', () => {
  expect(told({ name: 5 }, thing)).toBe("'total' is a required property");
});

test('of faults as near, a wrong type is told before a wrong value, then the first in the order of the schema', () => {
  expect(told({ total: 0, name: 5 }, thing)).toBe("5 is not of type 'string'");
  expect(told({ total: 0, name: 'a' }, thing)).toBe('0 is less than the minimum of 1');
  expect(told({ total: 1, name: '' }, thing)).toBe("'' does not match '^[A-Z]+$'");
});

test('all that is too much is named at once', () => {
  expect(told({ total: 1, b: 1, a: 1 }, thing)).toBe(
    "Additional properties are not allowed ('a', 'b' were unexpected)",
  );
  expect(told({ b: 1, a: 1 }, keyed('^[A-Z]$', integer))).toBe("'a', 'b' do not match any of the regexes: '^[A-Z]$'");
});

test('a choice is told by the part that nearly holds, or else as a whole', () => {
  const schema = exactly({ parent: { anyOf: [uuid, { type: 'null' }] } });
  expect(whyInvalid({ parent: 'x' }, schema)).toMatch(
    /^'x' is not a 'uuid'\n\nFailed validating 'format' in schema\[0\]:/,
  );
  expect(told({ parent: 5 }, schema)).toBe('5 is not valid under any of the given schemas');
});

test('whole numbers with a point are integers, true is not', () => {
  expect(whyInvalid(JSON.parse('1.0'), integer)).toBeUndefined();
  expect(told(true, integer)).toBe("True is not of type 'integer'");
});

test('of a value that would fill pages, the beginning is shown', () => {
  expect(whyInvalid({ name: 'x'.repeat(1_000_000) }, thing)?.length).toBeLessThan(20_000);
});

test('of tens of thousands of wrong values one is told, at once', () => {
  const inner = exactly({
    resources: keyed('^[A-Z_]+$', { ...integer, minimum: 1 }),
    parent: { anyOf: [uuid, integer] },
  });
  const schema = keyed('^[0-9]+$', exactly({ allocations: keyed('^[0-9]+$', inner) }, ['allocations']));
  const wrong = (n: number) => ({
    allocations: { 1: { resources: { VCPU: 0, vcpu: 1 }, parent: `x${n}` } },
    [`y${n}`]: 1,
  });
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, wrong(n)]));
  const started = process.cpuUsage();
  expect(told(many, schema)).toBe("Additional properties are not allowed ('y0' was unexpected)");
  expect(processorMs(started)).toBeLessThan(2_000);
  expect(whyInvalid(many, schema)).toBe(whyInvalid(many, schema));
});

test('what is nested deeper than anybody can say is told as well', () => {
  const deep = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as unknown;
  expect(told(deep, thing)).toMatch(/^\[\[\[\[.*is not of type 'object'$/);
});
