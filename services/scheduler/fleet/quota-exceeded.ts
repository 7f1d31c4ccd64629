import type { Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import { countedOf, excessOf, INSTANCES, type QuotaExcess, type QuotaState } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';

const NOTHING: readonly QuotaExcess[] = [];

/**
 * The limits that instances of a spec would exceed, by the rule of the store: all of them with what is required, and with
 * `more` each. What they hold already is given back by their claims; of a move it stays, but no instance is added. What is
 * nominated counts as held, and what is `leaving` as given back.
 */
export function quotaExceeded(
  { projectId, resources, requestGroups }: Pick<RequestSpec, 'projectId' | 'resources' | 'requestGroups'>,
  instanceUuids: readonly string[],
  view: Pick<PlacementView, 'quotas' | 'consumer'>,
  more: Resources = {},
  isMove = false,
  nominations: readonly PlaceLease[] = [],
  leaving: readonly Consumer[] = [],
): readonly QuotaExcess[] {
  const { quotas } = view;
  // Most projects have none.
  if (!quotas.quota(projectId) && !quotas.defaultQuota()) return NOTHING;
  const growth: Record<string, number> = { ...askedOf({ resources, requestGroups }, instanceUuids.length, more) };
  for (const uuid of instanceUuids) {
    const held = view.consumer(uuid);
    if (held?.projectId !== projectId) continue;
    const counted = Object.entries(countedOf(held)).filter(([name]) => !isMove || name === INSTANCES);
    for (const [name, amount] of counted) growth[name] = (growth[name] ?? 0) - amount;
  }
  return excessOf(new Map([[projectId, growth]]), withOthers(quotas, nominations, leaving));
}

/** What so many instances count for in a quota. */
export function askedOf(
  { resources, requestGroups }: Pick<RequestSpec, 'resources' | 'requestGroups'>,
  instanceCount: number,
  more: Resources = {},
): Resources {
  const each = [resources, more, ...requestGroups.map((group) => group.resources)].reduce(addResources, {
    [INSTANCES]: 1,
  });
  return Object.fromEntries(Object.entries(each).map(([name, amount]) => [name, amount * instanceCount]));
}

function withOthers(quotas: QuotaState, nominations: readonly PlaceLease[], leaving: readonly Consumer[]): QuotaState {
  if (nominations.length + leaving.length === 0) return quotas;
  const more = new Map<string, Resources>();
  for (const consumer of leaving) {
    const less = Object.entries(countedOf(consumer)).map(([name, amount]) => [name, -amount]);
    more.set(consumer.projectId, addResources(more.get(consumer.projectId) ?? {}, Object.fromEntries(less)));
  }
  for (const { projectId, places } of nominations) {
    const counted = places.map(({ allocations }) => countedOf({ allocations, consumerType: 'INSTANCE' }));
    more.set(projectId, counted.reduce(addResources, more.get(projectId) ?? {}));
  }
  return {
    quota: (project) => quotas.quota(project),
    defaultQuota: () => quotas.defaultQuota(),
    members: (cohort) => quotas.members(cohort),
    usage: (project) => addResources(quotas.usage(project), more.get(project) ?? {}),
  };
}
