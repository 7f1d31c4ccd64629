/** Calls back with what is in one of two lists and not in the other. */
export function compareSets(
  first: readonly string[],
  second: readonly string[],
  { onlyFirst, onlySecond }: { onlyFirst: (one: string) => void; onlySecond: (one: string) => void },
): void {
  for (const one of first) if (!second.includes(one)) onlyFirst(one);
  for (const one of second) if (!first.includes(one)) onlySecond(one);
}
