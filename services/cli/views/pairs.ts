/** Names and values on one line. */
export function pairs(map: Readonly<Record<string, string | number>>): string {
  return Object.entries(map)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
