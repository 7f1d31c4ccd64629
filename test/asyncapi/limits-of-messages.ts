import { Enum, type Field, type ReflectionObject, Type } from 'protobufjs';
import { type FieldRules, FORMATS } from '#libs/contracts/field-rules';
import type { SchemaFile } from '../schema/files';
import { statedRules } from '../schema/stated-rules';

type Json = Readonly<Record<string, unknown>>;

/**
 * JSON schemas of these messages and of all that stands in them, by full name, for tools that read no options of protobuf. Bytes become
 * `maxLength`, which counts characters: each text within the schema may still be too long in bytes.
 */
export function limitsOfMessages(
  files: readonly SchemaFile[],
  names: readonly string[],
): Readonly<Record<string, Json>> {
  const types = new Map<string, ReflectionObject>(
    files.flatMap((file) => file.objects.map((one) => [`${file.package}.${one.name}`, one] as const)),
  );
  const stated = statedRules();
  const found: Record<string, Json> = {};
  const add = (name: string) => {
    const type = types.get(name);
    if (!(type instanceof Type) || name in found) return;
    const rules = stated.get(name);
    const space = name.slice(0, name.lastIndexOf('.'));
    const embedded = (wanted: string) => [`${space}.${wanted}`, wanted].find((one) => types.get(one) instanceof Type);
    const enumeration = (wanted: string) => {
      const one = types.get(`${space}.${wanted}`) ?? types.get(wanted);
      return one instanceof Enum ? Object.keys(one.values) : undefined;
    };
    const schemaOf = (field: Field): Json => {
      const inner = embedded(field.type);
      const words = enumeration(field.type);
      const of = inner ? refTo(inner) : words ? { enum: words } : { type: JSON_TYPES[field.type] ?? 'integer' };
      return schemaOfField(field, of, rules?.get(field.name) ?? {});
    };
    const required = type.fieldsArray.filter((field) => rules?.get(field.name)?.required).map((field) => field.name);
    found[name] = {
      type: 'object',
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(type.fieldsArray.map((field) => [field.name, schemaOf(field)])),
    };
    for (const field of type.fieldsArray) add(embedded(field.type) ?? '');
  };
  for (const name of names) add(name);
  return found;
}

const JSON_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'string',
  bool: 'boolean',
  double: 'number',
};

function refTo(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function schemaOfField(field: Field, of: Json, rules: FieldRules): Json {
  const { maxItems, items = {}, maxPairs, keys = {}, values = {} } = rules;
  if ('keyType' in field) {
    const propertyNames = limited({}, keys);
    return {
      type: 'object',
      ...(maxPairs !== undefined && { maxProperties: maxPairs }),
      ...(Object.keys(propertyNames).length > 0 && { propertyNames }),
      additionalProperties: limited(of, values),
    };
  }
  if (!field.repeated) return limited(of, rules);
  return {
    type: 'array',
    ...(rules.required && { minItems: 1 }),
    ...(maxItems !== undefined && { maxItems }),
    items: limited(of, items),
  };
}

/** A value's schema with its limits; one that may be empty is so, or keeps its format. */
function limited(of: Json, { required, maxBytes, format, in: words, gt, gte, lte }: FieldRules): Json {
  if ('$ref' in of || 'enum' in of) return of;
  const pattern = format && (required ? FORMATS[format] : `^$|${FORMATS[format]}`);
  return {
    ...of,
    ...(words
      ? { enum: required ? words : ['', ...words] }
      : required && !format && of['type'] === 'string' && { minLength: 1 }),
    ...(maxBytes !== undefined && { maxLength: maxBytes }),
    ...(pattern !== undefined && { pattern }),
    ...(gt !== undefined && { exclusiveMinimum: gt }),
    ...(gte !== undefined && { minimum: gte }),
    ...(lte !== undefined && { maximum: lte }),
  };
}
