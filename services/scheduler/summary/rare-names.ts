import { MAX_TOLD_RESOURCES, MAX_TOLD_TRAITS } from '#libs/domain/cells/cell-summary';

/** An entry from which rare names are removed. */
interface Named {
  readonly signature: string;
  readonly all: ReadonlySet<string>;
  readonly free: Readonly<Record<string, unknown>>;
}

/** Equal for equal sets of traits. */
export function signatureOf(traits: Iterable<string>): string {
  return [...traits].sort().join(' ');
}

/**
 * Leaves out traits and resource classes that few hosts have, when there are more than a summary tells of, so that its size is bounded.
 * Without that a cell whose hosts each have a trait of their own could not be told of at all.
 */
export function withoutRareNames<T extends Named>(
  hosts: readonly T[],
): { readonly hosts: readonly T[]; readonly isAbridged: boolean } {
  const alike = new Map<string, { readonly traits: ReadonlySet<string>; count: number }>();
  const resources = new Map<string, number>();
  for (const { signature, all, free } of hosts) {
    const known = alike.get(signature);
    if (known) known.count++;
    else alike.set(signature, { traits: all, count: 1 });
    for (const name in free) resources.set(name, (resources.get(name) ?? 0) + 1);
  }
  const traits = new Map<string, number>();
  for (const one of alike.values()) {
    for (const trait of one.traits) traits.set(trait, (traits.get(trait) ?? 0) + one.count);
  }
  if (traits.size <= MAX_TOLD_TRAITS && resources.size <= MAX_TOLD_RESOURCES) return { hosts, isAbridged: false };
  const toldTraits = mostCommon(traits, MAX_TOLD_TRAITS);
  const toldResources = mostCommon(resources, MAX_TOLD_RESOURCES);
  const abridged = hosts.map((host) => {
    const all = new Set([...host.all].filter((trait) => toldTraits.has(trait)));
    const free = Object.fromEntries(Object.entries(host.free).filter(([name]) => toldResources.has(name)));
    return { ...host, all, free, signature: signatureOf(all) };
  });
  return { hosts: abridged, isAbridged: true };
}

/** The most common names, at most `most`. Names as common as the first one over the limit are all left out: their order says nothing. */
function mostCommon(counts: ReadonlyMap<string, number>, most: number): ReadonlySet<string> {
  const tooRare = [...counts.values()].sort((a, b) => b - a)[most] ?? 0;
  return new Set([...counts].filter(([, count]) => count > tooRare).map(([name]) => name));
}
