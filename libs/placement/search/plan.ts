import type { Provider } from '../../domain/provider';
import type { RequestGroup } from '../../domain/request-spec';
import type { ProviderForest } from '../port/placement-view';
import { type Demand, hasAnyOf, hasEach, offers } from './fit';
import type { CandidateQuery } from './query';

/**
 * One choice of a provider. A group with a suffix is one choice for all its demands; the group without is one for each
 * class, bound together by its traits.
 */
export interface Choice {
  readonly group: RequestGroup;
  readonly demands: readonly Demand[];
  /** The root of the tree that it must be met from. */
  readonly inTreeRoot: string | undefined;
  /** Sharing providers that can meet it for other trees. */
  readonly sharers: readonly Provider[];
  /** Equal for groups that ask for the same. */
  readonly symmetryKey: string;
}

/** A query made ready for one state of a view: names looked up, sharing providers found. */
export interface Plan {
  readonly view: ProviderForest;
  readonly query: CandidateQuery;
  /** Each class asked for, once. */
  readonly classes: readonly string[];
  /** Those of the group without a suffix first. */
  readonly choices: readonly Choice[];
  /** The group without a suffix, when there is one. */
  readonly spreadGroup: RequestGroup | undefined;
}

/** The plan of a query, or undefined when it names a tree that does not exist, so that nothing can meet it. */
export function planOf(view: ProviderForest, query: CandidateQuery): Plan | undefined {
  const classes: string[] = [];
  const demandsOf = (group: RequestGroup) => demands(group, classes);
  const spreadGroup = query.groups.find(isSpread);
  const choices: Choice[] = [];
  for (const group of query.groups) {
    const inTreeRoot = group.inTree === undefined ? undefined : view.provider(group.inTree)?.rootUuid;
    if (group.inTree !== undefined && inTreeRoot === undefined) return undefined;
    const parts = isSpread(group) ? demandsOf(group).map((demand) => [demand]) : [demandsOf(group)];
    const symmetryKey = JSON.stringify({ ...group, suffix: isSpread(group) });
    for (const part of parts) {
      const sharers = sharersFor(view, group, part, inTreeRoot);
      choices.push({ group, demands: part, inTreeRoot, sharers, symmetryKey });
    }
  }
  choices.sort((a, b) => Number(isSpread(b.group)) - Number(isSpread(a.group)));
  return { view, query, classes, choices, spreadGroup };
}

/** True if the group may be spread over several providers. */
export function isSpread(group: RequestGroup): boolean {
  return group.suffix === '';
}

function demands(group: RequestGroup, classes: string[]): Demand[] {
  return Object.entries(group.resources).map(([resourceClass, amount]) => {
    let classIndex = classes.indexOf(resourceClass);
    if (classIndex === -1) classIndex = classes.push(resourceClass) - 1;
    return { resourceClass, classIndex, amount };
  });
}

/** A sharing provider must itself be in the aggregates asked for, and a tree asked for leaves out what others share. */
function sharersFor(
  view: ProviderForest,
  group: RequestGroup,
  part: readonly Demand[],
  inTreeRoot: string | undefined,
): Provider[] {
  if (isSpread(group) && inTreeRoot !== undefined) return [];
  const sharers: Provider[] = [];
  for (const uuid of view.sharingProviders()) {
    const provider = view.provider(uuid);
    if (provider === undefined || provider.aggregates.length === 0) continue;
    if (inTreeRoot !== undefined && provider.rootUuid !== inTreeRoot) continue;
    if (!offers(view, provider, part) || hasAnyOf(provider.traits, group.forbiddenTraits)) continue;
    if (!hasEach(provider.aggregates, group.memberOf)) continue;
    if (hasAnyOf(provider.aggregates, group.forbiddenAggregates)) continue;
    if (!isSpread(group) && !hasEach(provider.traits, group.requiredTraits)) continue;
    sharers.push(provider);
  }
  return sharers;
}
