import { readFileSync } from 'node:fs';

/** The version in package.json. */
export function berthVersion(): string {
  const found = JSON.parse(readFileSync(require.resolve('#package.json'), 'utf8')) as { readonly version: string };
  return found.version;
}
