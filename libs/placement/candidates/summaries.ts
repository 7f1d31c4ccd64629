import type { Provider } from '../../domain/provider';
import type { PlacementView } from '../view';
import type { Candidate } from './query';

/**
 * The providers that an answer with these candidates tells about: all those of the trees that they take from, or for
 * clients that do not know of trees (before microversion 1.29) only those that they take from.
 */
export function summariesOf(view: PlacementView, candidates: readonly Candidate[], nestedAware = true): Provider[] {
  const summaries = new Map<string, Provider>();
  const roots = new Set<string>();
  for (const uuid of candidates.flatMap(({ allocations }) => Object.keys(allocations))) {
    const provider = view.provider(uuid);
    if (provider === undefined) continue;
    if (!nestedAware) summaries.set(uuid, provider);
    else if (!roots.has(provider.rootUuid)) {
      roots.add(provider.rootUuid);
      for (const member of view.tree(provider.rootUuid)) summaries.set(member.uuid, member);
    }
  }
  return [...summaries.values()];
}
