const KEYS = new Map([
  ['instanceUuid', 'uuid'],
  ['instanceUuids', 'uuids'],
]);

/**
 * As programs read it, in JSON and YAML: what is of an instance names it by `uuid`, as the instance itself does, however deep it
 * stands. A replacer, as `JSON.stringify` takes one.
 */
export function withProgramKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [KEYS.get(key) ?? key, of]));
}
