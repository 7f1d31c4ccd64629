import { snakeCase } from '#libs/contracts/compile-message';
import type { FieldRules } from '#libs/contracts/field-rules';
import { MESSAGE_RULES, type MessageRule } from '#libs/contracts/message-rules';
import { isEmpty, statedRules } from './stated-rules';

const IMPORT = 'import "berth/options/v1/options.proto";';
const MAX_LINE = 140;

/** In the order of `FieldRules` in the schema. */
const ORDER: readonly (keyof FieldRules)[] = [
  'required',
  'maxBytes',
  'inRoutingKey',
  'format',
  'in',
  'gt',
  'gte',
  'lte',
  'maxItems',
  'items',
  'maxPairs',
  'keys',
  'values',
];

/** The text of a schema with the limits of its messages as options, as the tables of the contracts state them. */
export function withOptions(text: string): string {
  const [, space = ''] = /^package ([\w.]+);$/m.exec(text) ?? [];
  const stated = statedRules();
  const messages = text.replaceAll(/^message (\w+) \{(?:\}|\n([^]*?)^\})$/gm, (_, name: string, body = '') => {
    const type = `${space}.${name}`;
    return messageText(name, body as string, stated.get(type) ?? new Map(), MESSAGE_RULES.get(type));
  });
  return withImport(messages);
}

function messageText(
  name: string,
  body: string,
  rules: ReadonlyMap<string, FieldRules>,
  rule: MessageRule | undefined,
): string {
  const bare = body.replace(/^ {2}option \(berth\.options\.v1\.message\) = [^;]*;\n/m, '');
  const FIELD =
    /^( +(?:(?:repeated |optional )?[\w.]+|map<[\w., ]+>) (\w+) = \d+)(?:\s*\[\(berth\.options\.v1\.field\)[^;]*\])?;/gm;
  const fields = bare.replaceAll(FIELD, (_, declaration: string, field: string) => {
    const its = rules.get(field);
    if (its === undefined) return `${declaration};`;
    const option = `[(berth.options.v1.field) = ${literal(its)}];`;
    const isLong = declaration.length + option.length > MAX_LINE;
    return `${declaration}${isLong ? '\n      ' : ' '}${option}`;
  });
  const option = rule ? `  option (berth.options.v1.message) = ${ruleLiteral(rule)};\n` : '';
  return option + fields === '' ? `message ${name} {}` : `message ${name} {\n${option}${fields}}`;
}

function literal(rules: FieldRules): string {
  const entries = ORDER.flatMap((key) => {
    const value = rules[key];
    if (value === undefined || (typeof value === 'object' && !Array.isArray(value) && isEmpty(value as FieldRules)))
      return [];
    return [`${snakeCase(key)}: ${valueText(key, value)}`];
  });
  return `{${entries.join(', ')}}`;
}

function valueText(key: keyof FieldRules, value: unknown): string {
  if (key === 'format') return `FORMAT_${String(value).toUpperCase()}`;
  if (Array.isArray(value)) return `[${value.map((word) => JSON.stringify(word)).join(', ')}]`;
  return typeof value === 'object' ? literal(value as FieldRules) : JSON.stringify(value);
}

function ruleLiteral({ maxBytes, maxParts }: MessageRule): string {
  const senders = (['project', 'agent', 'service'] as const).flatMap((sender) => {
    const bytes = maxBytes[sender];
    return bytes === undefined ? [] : [`${sender}_max_bytes: ${bytes}`];
  });
  return `{${[...senders, `max_parts: ${maxParts}`].join(', ')}}`;
}

/** Imports the options where they are used, in the order of names. */
function withImport(text: string): string {
  const isAlone = text.match(/^import /gm)?.length === 1;
  const bare = text.replace(isAlone ? `${IMPORT}\n\n` : `${IMPORT}\n`, '');
  if (!bare.includes('(berth.options.v1.')) return bare;
  const imports = bare.match(/^import .*;$/gm) ?? [];
  const next = imports.find((line) => line > IMPORT);
  if (next !== undefined) return bare.replace(next, `${IMPORT}\n${next}`);
  const last = imports.at(-1);
  if (last !== undefined) return bare.replace(last, `${last}\n${IMPORT}`);
  return bare.replace(/^option go_package .*;\n/m, (line) => `${line}\n${IMPORT}\n`);
}
