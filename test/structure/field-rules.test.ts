import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { asItIs } from '#libs/contracts/field';
import { type FieldRules, FORMATS, type Format, rulesOf } from '#libs/contracts/field-rules';
import { BerthError } from '#libs/domain/errors';
import { schemaPaths } from '../schema/files';
import { withOptions } from '../schema/options';
import { allTables } from '../schema/stated-rules';

const ROOT = join(__dirname, '../..');
type Field = ((...args: unknown[]) => unknown) | { readonly fromWire: (...args: unknown[]) => unknown };

/** Each field of each table that has a check of its own, by message and field. */
const FIELDS = [...allTables()].flatMap(([type, tables]) =>
  tables.flatMap((table, n) =>
    Object.entries(table as Record<string, Field>).flatMap(([name, field]) =>
      field === asItIs ? [] : [[`${type}.${name}${n === 0 ? '' : ` (${n + 1})`}`, field] as const],
    ),
  ),
);
const HOST_REPORT = allTables().get('berth.scheduler.v1.UpdateResourceStatsRequest')?.[0] as
  | Record<string, Field>
  | undefined;
const checkOf = (field: Field) => (typeof field === 'function' ? field : field.fromWire);
const read = (field: Field, value: unknown) => checkOf(field)(value, 'f', { host: 'h1', policy: 1 });

it.each(schemaPaths(ROOT))('%s states the limits of the tables: npm run proto:rules', (path) => {
  const text = readFileSync(path, 'utf8');
  expect(text).toBe(withOptions(text));
});

it('knows the pattern of each format', () => {
  const options = readFileSync(join(ROOT, 'proto/berth/options/v1/options.proto'), 'utf8');
  const stated = [...options.matchAll(/FORMAT_(\w+) = \d+ \[\(pattern\) = (".*")\]/g)];
  const patterns = stated.map(([, name = '', pattern = '']) => [name.toLowerCase(), JSON.parse(pattern)] as const);
  expect(Object.fromEntries(patterns)).toEqual(FORMATS);
});

it('has rules for each check, so that none is left unsaid', () => {
  expect(FIELDS.length).toBeGreaterThan(300);
  expect(FIELDS.filter(([, field]) => rulesOf(field) === undefined).map(([name]) => name)).toEqual([]);
});

it.each(FIELDS.filter(([, field]) => rulesOf(field)?.format !== undefined && isChecked(field)))(
  'takes what the rules of %s take, and nothing that they refuse',
  (_, field) => {
    const rules = rulesOf(field) as FieldRules;
    const pattern = new RegExp(FORMATS[rules.format as Format]);
    const isTaken = (text: string) => {
      if (text === '') return rules.required === undefined;
      return pattern.test(text) && bytesOf(text, rules) <= (rules.maxBytes ?? Infinity);
    };
    const texts = fc.oneof(
      fc.stringMatching(pattern),
      fc.string({ maxLength: 300 }),
      fc.string().map((s) => s.repeat(90)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect([text, refusal(field, text) === undefined]).toEqual([text, isTaken(text)]);
      }),
      { numRuns: 60, examples: [[''], ['a'.repeat(100)], ['a'.repeat(101)], ['a'.repeat(256)], [' a']] },
    );
  },
);

it.each(FIELDS.filter(([, field]) => rulesOf(field)?.maxItems !== undefined && isChecked(field)))(
  'refuses more items than the rules of %s',
  (_, field) => {
    const { maxItems = 0 } = rulesOf(field) as FieldRules;
    expect(refusal(field, Array.from({ length: maxItems + 1 }))?.code).toBe('invalid_argument');
  },
);

it.each(FIELDS.filter(([, field]) => bounds(field).length > 0 && isChecked(field)))(
  'takes the numbers within the rules of %s alone',
  (_, field) => {
    const { gt, gte, lte } = rulesOf(field) as FieldRules;
    const inside = [lte, gte].filter((one) => one !== undefined);
    const outside = [lte === undefined ? [] : lte + 1, gte === undefined ? [] : gte - 1, gt ?? []].flat();
    expect(inside.map((number) => refusal(field, number))).toEqual(inside.map(() => undefined));
    expect(outside.map((number) => refusal(field, number)?.code)).toEqual(outside.map(() => 'invalid_argument'));
  },
);

function bounds(field: Field): readonly number[] {
  const { gt, gte, lte } = rulesOf(field) ?? {};
  return [gt, gte, lte].filter((one) => one !== undefined);
}

/** False for what is checked later, by who takes the message (`validateStats`). */
function isChecked(field: Field): boolean {
  if (field === HOST_REPORT?.['aggregates']) return false;
  return checkOf(field) !== asItIs && !String(checkOf(field)).includes('of.host');
}

function bytesOf(text: string, { inRoutingKey }: FieldRules): number {
  return Buffer.byteLength(inRoutingKey ? text.replaceAll(/[.%]/g, '123') : text);
}

function refusal(field: Field, value: unknown): BerthError | undefined {
  try {
    read(field, value);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof BerthError) return thrown;
    throw thrown;
  }
}
