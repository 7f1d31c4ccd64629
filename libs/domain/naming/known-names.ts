import { type BerthError, invalidArgument } from '../errors';
import { isClassOrTraitName } from '../names';
import {
  isStandardResourceClass,
  isStandardTrait,
  STANDARD_RESOURCE_CLASSES,
  STANDARD_TRAITS,
} from '../standard-names';

/** True for standard and custom resource classes; some host need not have it. */
export function isResourceClass(name: string): boolean {
  return isStandardResourceClass(name) || isOwn(name);
}

/** True for standard and custom traits. */
export function isTrait(name: string): boolean {
  return isStandardTrait(name) || isOwn(name);
}

/** @throws BerthError `invalid_argument / unknown_resource_class`, with the nearest name. */
export function requireResourceClass(name: string, field: string): string {
  if (isResourceClass(name)) return name;
  throw unknownName(field, 'resource class', name);
}

/** @throws BerthError `invalid_argument / unknown_trait`, with the nearest name. */
export function requireTrait(name: string, field: string): string {
  if (isTrait(name)) return name;
  throw unknownName(field, 'trait', name);
}

/** A "did you mean" sentence for an unknown name. */
export function hintFor(name: string, kind: 'resource class' | 'trait'): string {
  const near = closestTo(name, kind === 'trait' ? STANDARD_TRAITS : STANDARD_RESOURCE_CLASSES);
  const rule = 'one that is not standard begins with CUSTOM_';
  return near ? `did you mean ${near}? Otherwise, ${rule}` : rule;
}

function unknownName(field: string, kind: 'resource class' | 'trait', name: string): BerthError {
  const message = `${field}: there is no ${kind} '${name.slice(0, 64)}'; ${hintFor(name, kind)}`;
  return invalidArgument(`unknown_${kind.replace(' ', '_')}`, message, field);
}

function isOwn(name: string): boolean {
  return name.length > OWN.length && name.startsWith(OWN) && isClassOrTraitName(name);
}

const OWN = 'CUSTOM_';

/** The nearest of some names, within two typing errors; undefined when none is. */
export function closestTo(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.slice(0, MAX_COMPARED).toLowerCase();
  const most = wanted.length < 5 ? 1 : 2;
  let [best, bestDistance] = [undefined as string | undefined, most + 1];
  for (const one of known) {
    if (Math.abs(one.length - wanted.length) >= bestDistance) continue;
    const distance = distanceBetween(wanted, one.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [one, distance];
  }
  return best;
}

/** Longer names are compared by their first characters. */
const MAX_COMPARED = 64;

/** Edits between two names: insert, delete, replace, or swap of neighbours (Damerau's distance, restricted). */
function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const steps = [(last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (isSame ? 0 : 1)];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) steps.push((before[j - 2] as number) + 1);
      row.push(Math.min(...steps));
    }
    [before, last] = [last, row];
  }
  return last[b.length] as number;
}
