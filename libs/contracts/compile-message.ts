import { asItIs, type Conversion, type Renamed, type StaysEncoded } from './field';

type AnyField = ((value: never, path: string, message: never) => unknown) | AnyConversion;
type AnyConversion = Conversion<unknown, never> & Partial<Renamed<string> & StaysEncoded>;

/*
 * The naive way walks the table for each message: `out[name] = check(wire[name])`. It fails because one loop for all messages reads
 * and writes properties by names that the engine cannot foresee, and a decode takes a half longer than one written by hand. Here a
 * table is written out, once, as the function that a hand would have written: a literal with a call for each field. What goes into
 * its source is names of the table's fields, which the compiler has compared with the schema, and nothing that came from outside.
 */

/** From the generated class to plain data: of a whole body (`top`), and of a message at a path in another (`at`). */
export function compileFromWire<W, T>(
  fields: object,
): {
  top: (wire: W) => T;
  at: (wire: W, path: string) => T;
} {
  const table = Object.entries(fields) as [string, AnyField][];
  const checks = table.map(([, field]) => (typeof field === 'function' ? field : field.fromWire));
  const literal = (pathOf: (name: string) => string) => {
    const entries = table.map(([name, field], n) => {
      const value = checks[n] === asItIs ? `wire.${name}` : `f${n}(wire.${name}, ${pathOf(snakeCase(name))}, wire)`;
      return `${plainName(name, field)}: ${value}`;
    });
    return `{ ${entries.join(', ')} }`;
  };
  const top = `(wire) => (${literal((name) => `'${name}'`)})`;
  const at = `(wire, path) => (${literal((name) => `path + '.${name}'`)})`;
  return { top: written(top, checks) as (wire: W) => T, at: written(at, checks) as (wire: W, path: string) => T };
}

/** From plain data to what the generated class encodes; undefined where that is the same. */
export function compileToWire(fields: object): ((value: never) => unknown) | undefined {
  const table = (Object.entries(fields) as [string, AnyField][]).filter(([, field]) => !staysEncoded(field));
  const isSame = table.every(([name, field]) => toWireOf(field) === undefined && plainName(name, field) === name);
  if (isSame && table.length === Object.keys(fields).length) return undefined;
  const entries = table.map(([name, field], n) => {
    const value = `value.${plainName(name, field)}`;
    return `${name}: ${toWireOf(field) === undefined ? value : `f${n}(${value}, value)`}`;
  });
  const source = `(value) => ({ ${entries.join(', ')} })`;
  return written(
    source,
    table.map(([, field]) => toWireOf(field)),
  ) as (value: never) => unknown;
}

/** The name of a field as the schema has it, for people: `atMs` is `at_ms`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function written(source: string, functions: readonly unknown[]): unknown {
  const names = functions.map((_, n) => `f${n}`);
  // oxlint-disable-next-line typescript/no-implied-eval -- see above
  const write = new Function(...names, `return ${source}`) as (...values: readonly unknown[]) => unknown;
  return write(...functions);
}

function plainName(name: string, field: AnyField): string {
  return (typeof field === 'function' ? undefined : field.plainName) ?? name;
}

function toWireOf(field: AnyField) {
  return typeof field === 'function' || field.toWire === asItIs ? undefined : field.toWire;
}

function staysEncoded(field: AnyField): boolean {
  return typeof field === 'object' && field.fieldNumber !== undefined;
}
