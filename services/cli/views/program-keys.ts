const KEYS = new Map([
  ['instanceUuid', 'uuid'],
  ['instanceUuids', 'uuids'],
]);

/**
 * Renames keys for JSON and YAML: a field of an instance's uuid is called `uuid` at any depth, as in the instance
 * itself. A replacer for `JSON.stringify`.
 */
export function withProgramKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [KEYS.get(key) ?? key, of]));
}
