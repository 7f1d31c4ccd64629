import { hasAnyOf } from './fit';
import { type Choice, isSpread, type Plan } from './plan';

/** Something that some provider of a tree must have, because nobody shares it: any one of `of`, as much as `atLeast`. */
export interface Need {
  readonly kind: 'class' | 'trait' | 'aggregate';
  readonly of: readonly string[];
  /** A traits and an aggregate are there (1) or not (0). */
  readonly atLeast: number;
}

/**
 * What every tree that can meet the plan must have. It leaves out trees early and leaves none out wrongly: what a
 * sharing provider might bring is not needed.
 */
export function needsOf({ query, choices, spreadGroup }: Plan): Need[] {
  const needs: Need[] = [];
  const presence = (kind: 'trait' | 'aggregate', lists: readonly (readonly string[])[]) =>
    needs.push(...lists.map((of) => ({ kind, of, atLeast: 1 })));
  presence(
    'trait',
    query.rootRequiredTraits.map((trait) => [trait]),
  );
  const own = choices.filter(({ sharers }) => sharers.length === 0);
  for (const { resourceClass, amount } of own.flatMap(({ demands }) => demands))
    needs.push({ kind: 'class', of: [resourceClass], atLeast: amount });
  for (const { group } of own.filter((choice) => !isSpread(choice.group))) {
    presence('trait', group.requiredTraits);
    presence('aggregate', group.memberOf);
  }
  if (spreadGroup !== undefined) {
    const spread = choices.filter((choice) => isSpread(choice.group));
    presence(
      'trait',
      spreadGroup.requiredTraits.filter((anyOf) => !isShared(spread, anyOf)),
    );
    if (spread.some((choice) => own.includes(choice))) presence('aggregate', spreadGroup.memberOf);
  }
  return needs;
}

/** The one tree that a group can be met from, if the query names it. Two different ones can't be met. */
export function namedRoots({ choices }: Plan): readonly string[] {
  const roots = choices.flatMap(({ inTreeRoot, sharers }) =>
    inTreeRoot !== undefined && sharers.length === 0 ? [inTreeRoot] : [],
  );
  return [...new Set(roots)];
}

function isShared(spread: readonly Choice[], anyOf: readonly string[]): boolean {
  return spread.some(({ sharers }) => sharers.some(({ traits }) => hasAnyOf(traits, anyOf)));
}
