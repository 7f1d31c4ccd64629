import { RESOURCE_CLASS_NAMES, TRAIT_NAMES } from './standard-names.data';

/** The resource classes that exist without being created, in Placement's numbering order. */
export const STANDARD_RESOURCE_CLASSES: readonly string[] = namesIn(RESOURCE_CLASS_NAMES);

/** The traits that exist without being created, sorted. */
export const STANDARD_TRAITS: readonly string[] = namesIn(TRAIT_NAMES).sort();

const RESOURCE_CLASS_SET: ReadonlySet<string> = new Set(STANDARD_RESOURCE_CLASSES);
const TRAIT_SET: ReadonlySet<string> = new Set(STANDARD_TRAITS);

export function isStandardResourceClass(name: string): boolean {
  return RESOURCE_CLASS_SET.has(name);
}

export function isStandardTrait(name: string): boolean {
  return TRAIT_SET.has(name);
}

/** The names in a text, one per line; blank lines and text after `#` are ignored. */
export function namesIn(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
}

/** Differences between a given list and ours: `missing` are the names that we lack. Sorted. */
export function compareNames(
  kept: readonly string[],
  given: readonly string[],
): { readonly missing: readonly string[]; readonly extra: readonly string[] } {
  const keptSet = new Set(kept);
  const givenSet = new Set(given);
  return {
    missing: [...givenSet].filter((name) => !keptSet.has(name)).sort(),
    extra: [...keptSet].filter((name) => !givenSet.has(name)).sort(),
  };
}
