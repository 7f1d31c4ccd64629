import * as fc from 'fast-check';
import { CLASS_NAME, CUSTOM_NAME, NAMED_GROUP, type Schema, UUID_KEY } from '../schemas/parts';
import { CLASSES, CUSTOM_NAMES, UUIDS } from './fuzzed-state';

/** Values that a schema allows, often with names and uuids of `fuzzed-state`. */
export function arbitraryOf(schema: SchemaParts): fc.Arbitrary<unknown> {
  const { type, anyOf, enum: choices, pattern, format } = schema;
  if (anyOf) return fc.oneof(...anyOf.map(arbitraryOf));
  if (choices) return fc.constantFrom(...choices);
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => arbitraryOf({ ...schema, type: one })));
  switch (type) {
    case 'object':
      return objectOf(schema);
    case 'array': {
      const { items = {}, minItems = 0, uniqueItems } = schema;
      const lengths = { minLength: minItems, maxLength: minItems + 3 };
      const selector = { selector: (value: unknown) => JSON.stringify(value) };
      return uniqueItems
        ? fc.uniqueArray(arbitraryOf(items), { ...lengths, ...selector })
        : fc.array(arbitraryOf(items), lengths);
    }
    case 'integer':
      return integerOf(schema);
    case 'number':
      return fc.oneof(fc.constantFrom(0, 0.1, 1, 1.5, 16, -1), fc.double({ noNaN: true, max: 3e38, min: -3e38 }));
    case 'null':
      return fc.constant(null);
    case 'string':
      if (format === 'uuid') return uuids;
      return pattern === undefined ? textOf(schema) : matching(pattern);
    default:
      return fc.jsonValue();
  }
}

interface SchemaParts {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

export const uuids = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...UUIDS) }, { weight: 1, arbitrary: fc.uuid() });

function objectOf({ properties = {}, required = [], patternProperties = {}, minProperties = 0 }: SchemaParts) {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, arbitraryOf(schema)]));
  const named = fc.record(fields, { requiredKeys: [...required] });
  const keyed = Object.entries(patternProperties).map(([pattern, schema]) =>
    fc.dictionary(matching(pattern), arbitraryOf(schema), { minKeys: minProperties, maxKeys: minProperties + 2 }),
  );
  return fc.tuple(named, ...keyed).map((parts) => Object.assign({}, ...parts) as object);
}

/** Mostly small, so that generations and sizes are often right. */
function integerOf({ minimum = -(2 ** 31), maximum = 2 ** 31 }: SchemaParts): fc.Arbitrary<number> {
  const least = Math.max(minimum, 0);
  const small = fc.integer({ min: least, max: least + 4 });
  return fc.oneof(
    { weight: 6, arbitrary: small },
    { weight: 1, arbitrary: fc.integer({ min: minimum, max: maximum }) },
  );
}

function textOf({ minLength = 0, maxLength = 255 }: SchemaParts): fc.Arbitrary<string> {
  const some = fc.string({ minLength, maxLength: Math.min(maxLength, 20), unit: 'grapheme' });
  const long = fc.string({ minLength: maxLength, maxLength });
  return fc.oneof({ weight: 8, arbitrary: some }, { weight: 1, arbitrary: long });
}

function matching(pattern: string): fc.Arbitrary<string> {
  const any = fc.stringMatching(new RegExp(pattern));
  switch (pattern) {
    case CLASS_NAME:
      return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...CLASSES) }, { weight: 1, arbitrary: any });
    case CUSTOM_NAME:
      return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...CUSTOM_NAMES) }, { weight: 1, arbitrary: any });
    case UUID_KEY:
      return fc.oneof({ weight: 9, arbitrary: uuids }, { weight: 1, arbitrary: any });
    case NAMED_GROUP:
      return fc.constantFrom('', '1', '_a', '-');
    default:
      return any;
  }
}
