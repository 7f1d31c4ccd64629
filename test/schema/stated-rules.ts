import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { frameCodec } from '#libs/bus/amqp/batching/frame';
import { snakeCase } from '#libs/contracts/compile-message';
import { type FieldRules, rulesOf } from '#libs/contracts/field-rules';
import { MESSAGE_TABLES } from '#libs/contracts/message';

/** Tables of all messages, by full name: each module of the contracts is loaded, and what has tables beside them. */
export function allTables(): ReadonlyMap<string, readonly object[]> {
  const folder = join(__dirname, '../../libs/contracts');
  const modules = readdirSync(folder).filter((file) => /(?<!\.test|\.d)\.[jt]s$/.test(file));
  for (const file of modules) require(join(folder, file));
  if (!MESSAGE_TABLES.has(frameCodec.type)) throw new Error('the tables were loaded twice');
  return MESSAGE_TABLES;
}

/** Rules of each field that has some, by message and by the field's name in the schema. */
export function statedRules(): ReadonlyMap<string, ReadonlyMap<string, FieldRules>> {
  return new Map(
    [...allTables()].map(([type, tables]) => {
      const fields = Object.keys(tables[0] ?? {}).map((name) => {
        const rules = tables.map((table) => rulesOf((table as Record<string, object>)[name] as object) ?? {});
        return [snakeCase(name), rules.reduce(inCommon)] as const;
      });
      return [type, new Map(fields.filter(([, rules]) => !isEmpty(rules)))];
    }),
  );
}

/** Rules that two statements of a field both keep: a client may send what one of them takes. */
function inCommon(a: FieldRules, b: FieldRules): FieldRules {
  const common = Object.entries(a).flatMap(([key, ours]) => {
    const theirs: unknown = b[key as keyof FieldRules];
    if (theirs === undefined) return [];
    if (isRules(ours) && isRules(theirs)) return [[key, inCommon(ours, theirs)]];
    if (typeof ours === 'number' && typeof theirs === 'number') {
      return [[key, key.startsWith('g') ? Math.min(ours, theirs) : Math.max(ours, theirs)]];
    }
    return JSON.stringify(ours) === JSON.stringify(theirs) ? [[key, ours]] : [];
  });
  return Object.fromEntries(common) as FieldRules;
}

/** True where nothing is limited, of its items and entries neither. */
export function isEmpty(rules: FieldRules): boolean {
  return Object.values(rules).every((value) => isRules(value) && isEmpty(value));
}

function isRules(value: unknown): value is FieldRules {
  return typeof value === 'object' && !Array.isArray(value);
}
