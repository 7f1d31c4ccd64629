import { hasAnyOf } from './fit';
import type { TreeProblem } from './tree-problem';

/**
 * Numbers providers so that two have the same number exactly when swapping them changes nothing for the query: devices
 * (no children) of the same parent, with the same room, that can meet the same groups and bring the same wanted traits.
 */
export function alikeProviders({ plan, providers, variables, room }: TreeProblem): number[] {
  const classCount = plan.classes.length;
  const wanted = plan.spreadGroup?.requiredTraits ?? [];
  const numbers = new Map<string, number>();
  const domains = variables.map(({ domain }) => new Set(domain));
  return providers.map((provider, place) => {
    const isDevice = provider.parentUuid !== undefined && plan.view.children(provider.uuid).size === 0;
    const key = isDevice
      ? JSON.stringify([
          provider.parentUuid,
          domains.map((domain) => domain.has(place)),
          wanted.map((anyOf) => hasAnyOf(provider.traits, anyOf)),
          room.slice(place * classCount, (place + 1) * classCount),
        ])
      : provider.uuid;
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
}
