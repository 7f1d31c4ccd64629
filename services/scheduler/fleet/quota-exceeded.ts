import { addResources, type Resources } from '#libs/domain/inventory';
import { countedOf, excessOf, INSTANCES, type QuotaExcess } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';

const NOTHING: readonly QuotaExcess[] = [];

/**
 * The limits that instances of a spec would exceed, by the rule of the store: all of them with what is required, and with
 * `more` each. What they hold already is given back by their claims; of a move it stays, but no instance is added.
 */
export function quotaExceeded(
  { projectId, resources, requestGroups }: Pick<RequestSpec, 'projectId' | 'resources' | 'requestGroups'>,
  instanceUuids: readonly string[],
  view: Pick<PlacementView, 'quotas' | 'consumer'>,
  more: Resources = {},
  isMove = false,
): readonly QuotaExcess[] {
  const { quotas } = view;
  // Most projects have none.
  if (!quotas.quota(projectId) && !quotas.defaultQuota()) return NOTHING;
  const each = [resources, more, ...requestGroups.map((group) => group.resources)].reduce(addResources, {
    [INSTANCES]: 1,
  });
  const growth = Object.fromEntries(
    Object.entries(each).map(([name, amount]) => [name, amount * instanceUuids.length]),
  );
  for (const uuid of instanceUuids) {
    const held = view.consumer(uuid);
    if (held?.projectId !== projectId) continue;
    const counted = Object.entries(countedOf(held)).filter(([name]) => !isMove || name === INSTANCES);
    for (const [name, amount] of counted) growth[name] = (growth[name] ?? 0) - amount;
  }
  return excessOf(new Map([[projectId, growth]]), quotas);
}
