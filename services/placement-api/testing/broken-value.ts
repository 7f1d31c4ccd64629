import * as fc from 'fast-check';

/** JSON values with one to three mutations: changes, removals, additions. */
export function broken(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.record({
    where: fc.nat(),
    how: fc.constantFrom('put', 'take', 'add'),
    what: oddValues,
    name: oddNames,
  });
  return fc
    .tuple(values, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) => changes.reduce(changed, value));
}

interface ValueChange {
  /** The index of the mutated place, modulo the number of places. */
  readonly where: number;
  readonly how: string;
  readonly what: unknown;
  readonly name: string;
}

const oddNames = fc.constantFrom(
  '',
  '__proto__',
  'constructor',
  'name',
  'uuid',
  'x',
  'VCPU',
  'x'.repeat(300),
  '\u{1f680}',
  '0',
  'a\nb',
);
const oddValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, -1, 0.5, 2 ** 31 - 1, 2 ** 31, 2 ** 53, 1e39, 1e308, -1e308, 5e-324),
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\ud800',
    '\u{1f680}',
    'x'.repeat(5_000),
    '1',
    'null',
    '\u202e',
    'a'.repeat(201),
    '-'.repeat(36),
  ),
  fc.constantFrom<unknown>([], {}, [[]], [null], { a: { b: { c: [] } } }, nested(200)),
  fc.jsonValue({ maxDepth: 2 }),
);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

function changed(value: unknown, change: ValueChange): unknown {
  const places = placesIn(value);
  const place = places[change.where % places.length] ?? [];
  return at(value, place, change);
}

type Place = readonly (string | number)[];

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [[]];
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [[], ...entries.flatMap(([key, inner]) => placesIn(inner).map((place) => [key, ...place]))];
}

/** A copy with the value at a place changed. */
function at(value: unknown, [key, ...rest]: Place, change: ValueChange): unknown {
  if (key === undefined) return change.how === 'add' ? added(value, change) : change.what;
  const isLast = rest.length === 0 && change.how === 'take';
  if (Array.isArray(value)) {
    const all: readonly unknown[] = value;
    return isLast
      ? all.filter((_, i) => i !== key)
      : all.map((inner, i) => (i === key ? at(inner, rest, change) : inner));
  }
  const entries = Object.entries(value as object);
  const kept = isLast ? entries.filter(([name]) => name !== key) : entries;
  return Object.fromEntries(kept.map(([name, inner]) => [name, name === key ? at(inner, rest, change) : inner]));
}

function added(value: unknown, { name, what }: ValueChange): unknown {
  if (Array.isArray(value)) return [...(value as unknown[]), what];
  if (typeof value !== 'object' || value === null) return what;
  return Object.fromEntries([...Object.entries(value), [name, what]]);
}
