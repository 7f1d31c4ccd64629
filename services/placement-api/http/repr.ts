/** A JSON value as Python prints it, for texts that clients of the real Placement know. */
export function repr(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value === 'number') return String(value);
  const entries = Object.entries(value).map(([key, inner]) => `${repr(key)}: ${repr(inner)}`);
  return `{${entries.join(', ')}}`;
}

function quoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  return text.includes("'") && !text.includes('"') ? `"${escaped}"` : `'${escaped.replaceAll("'", "\\'")}'`;
}
