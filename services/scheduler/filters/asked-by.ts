/** For people: ` (extra spec trait:CUSTOM_A)` of what extra specs ask for, nothing of what is spelled out. */
export function askedBy(keys: readonly string[] | undefined): string {
  if (keys === undefined) return '';
  return ` (extra spec${keys.length > 1 ? 's' : ''} ${keys.join(', ')})`;
}
