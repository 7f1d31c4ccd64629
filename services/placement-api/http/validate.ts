import { Ajv, type ErrorObject } from 'ajv';
import { isUuidLike } from './uuid';

/** A JSON schema (draft 7), as data. */
export type Schema = Readonly<Record<string, unknown>>;

const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, formats: { uuid: isUuidLike } });

/**
 * Why a value does not meet a schema, undefined when it does: one error, the one nearest to the root, in the words of
 * Python's jsonschema, because clients and their tests search in them.
 */
export function whyInvalid(value: unknown, schema: Schema): string | undefined {
  const validate = ajv.compile(schema);
  if (validate(value)) return undefined;
  const [nearest] = (validate.errors ?? []).toSorted((a, b) => depth(a) - depth(b));
  return nearest && textOf(nearest);
}

function depth({ instancePath, keyword }: ErrorObject): number {
  // A failed choice is told by what is in it only when nothing else is wrong as near to the root.
  return instancePath.split('/').length + (keyword === 'anyOf' ? 0.5 : 0);
}

function textOf(error: ErrorObject): string {
  const indent = '\n    ';
  const schemaPath = decodeURIComponent(error.schemaPath).split('/').slice(0, -1).join('/');
  return [
    messageOf(error),
    `Failed validating ${repr(error.keyword)} in schema${pathOf(schemaPath)}:${indent}${repr(error.parentSchema)}`,
    `On instance${pathOf(error.instancePath)}:${indent}${repr(error.data)}`,
  ].join('\n\n');
}

function messageOf({ keyword, params, data, schema, parentSchema, message }: ErrorObject): string {
  const value = repr(data);
  const limit = repr(schema);
  switch (keyword) {
    case 'required':
      return `${repr(params['missingProperty'])} is a required property`;
    case 'additionalProperties': {
      const name = repr(params['additionalProperty']);
      const patterns = Object.keys((parentSchema?.['patternProperties'] as object | undefined) ?? {});
      return patterns.length > 0
        ? `${name} does not match any of the regexes: ${patterns.map(repr).join(', ')}`
        : `Additional properties are not allowed (${name} was unexpected)`;
    }
    case 'type':
      return `${value} is not of type ${[schema].flat().map(repr).join(', ')}`;
    case 'pattern':
      return `${value} does not match ${limit}`;
    case 'format':
      return `${value} is not a ${limit}`;
    case 'enum':
      return `${value} is not one of ${limit}`;
    case 'minimum':
      return `${value} is less than the minimum of ${limit}`;
    case 'maximum':
      return `${value} is greater than the maximum of ${limit}`;
    case 'minLength':
    case 'minItems':
      return `${value} is too short`;
    case 'maxLength':
    case 'maxItems':
      return `${value} is too long`;
    case 'minProperties':
      return `${value} does not have enough properties`;
    case 'maxProperties':
      return `${value} has too many properties`;
    case 'uniqueItems':
      return `${value} has non-unique elements`;
    case 'anyOf':
      return `${value} is not valid under any of the given schemas`;
    default:
      return `${value} ${message ?? 'is not valid'}`;
  }
}

/** `/a/0` as Python shows it: `['a'][0]`. */
function pathOf(instancePath: string): string {
  const steps = instancePath.split('/').slice(1);
  return steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `['${step.replaceAll('~1', '/').replaceAll('~0', '~')}']`))
    .join('');
}

/** A JSON value as Python prints it. */
function repr(value: unknown): string {
  if (typeof value === 'string') return value.includes("'") ? JSON.stringify(value) : `'${value}'`;
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value === 'number') return String(value);
  const entries = Object.entries(value).map(([key, inner]) => `${repr(key)}: ${repr(inner)}`);
  return `{${entries.join(', ')}}`;
}
