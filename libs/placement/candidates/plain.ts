import type { Provider } from '../../domain/provider';
import { hasAnyOf, hasEach, isAsDescribedInTree, offers } from './fit';
import { isSpread, type Plan } from './plan';
import type { Candidate } from './query';

/**
 * Whether there is nothing to search for in a tree: one provider, one group without a suffix, and nobody shares what it
 * wants. Most fleets and most requests are so.
 */
export function isPlain({ view, choices }: Plan, rootUuid: string): boolean {
  return (
    choices.every(({ group, sharers }) => isSpread(group) && sharers.length === 0) && view.children(rootUuid).size === 0
  );
}

/** The only candidate that a plain tree can have: the same as the search finds, sooner. */
export function plainCandidate({ view, query, choices, spreadGroup }: Plan, root: Provider): Candidate | undefined {
  if (spreadGroup === undefined) return undefined;
  for (const { demands, inTreeRoot } of choices) {
    if (inTreeRoot !== undefined && inTreeRoot !== root.uuid) return undefined;
    if (!offers(view, root, demands)) return undefined;
  }
  const isFit =
    isAsDescribedInTree(root, root, spreadGroup) &&
    hasEach(root.traits, spreadGroup.requiredTraits) &&
    query.rootRequiredTraits.every((trait) => root.traits.includes(trait)) &&
    !hasAnyOf(root.traits, query.rootForbiddenTraits);
  if (!isFit) return undefined;
  return { rootUuid: root.uuid, allocations: { [root.uuid]: spreadGroup.resources }, mappings: { '': [root.uuid] } };
}
