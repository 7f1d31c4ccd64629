import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, type ReflectionObject, Root } from 'protobufjs';

/** A schema file: its package and what stands in it, with comments, fields called as there. */
export interface SchemaFile {
  readonly package: string;
  readonly text: string;
  readonly objects: readonly ReflectionObject[];
}

/** Paths of Berth's own schemas, sorted: without protobuf's own, which is there for its options, and without the options themselves. */
export function schemaPaths(root: string): readonly string[] {
  const folder = join(root, 'proto');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const own = files.filter((path) => /^berth.*\.proto$/.test(path) && !path.startsWith('berth/options/'));
  return own.sort().map((path) => join(folder, path));
}

/** Each of Berth's schemas, read. */
export function readSchemas(root: string): readonly SchemaFile[] {
  return schemaPaths(root).map((path) => {
    const text = readFileSync(path, 'utf8');
    const options = { keepCase: true, alternateCommentMode: true };
    const { package: name = '', root: parsed } = parse(text, new Root(), options);
    const found = parsed.lookup(name) as { readonly nestedArray?: readonly ReflectionObject[] } | null;
    return { package: name, text, objects: found?.nestedArray ?? [] };
  });
}
