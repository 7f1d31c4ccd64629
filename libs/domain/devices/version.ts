/** A semantic version (semver.org 2.0.0), without its build. */
export interface Version {
  readonly numbers: readonly [number, number, number];
  /** Identifiers of a pre-release; none of a release. */
  readonly preRelease: readonly string[];
}

const FORM =
  /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/;

/** Undefined for text that is no semantic version. */
export function parseVersion(text: string): Version | undefined {
  const [matched, major, minor, patch, preRelease] = FORM.exec(text) ?? [];
  if (matched === undefined) return undefined;
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    preRelease: preRelease === undefined ? [] : preRelease.split('.'),
  };
}

/** Below 0, 0 or above 0, by semver's precedence. */
export function compareVersions(a: Version, b: Version): number {
  for (const [n, one] of a.numbers.entries()) {
    const other = b.numbers[n] as number;
    if (one !== other) return one - other;
  }
  return comparePreReleases(a.preRelease, b.preRelease);
}

function comparePreReleases(a: readonly string[], b: readonly string[]): number {
  // A release comes after its pre-releases.
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (const [n, one] of a.entries()) {
    const other = b[n];
    if (other === undefined) return 1;
    const order = compareIdentifiers(one, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA && isNumberB) return Number(a) - Number(b);
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
