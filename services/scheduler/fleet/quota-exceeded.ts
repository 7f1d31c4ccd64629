import { type DevicesAsked, leastDevices } from '#libs/domain/devices/device-request';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import type { PlaceLease } from '#libs/domain/queueing/place-lease';
import {
  countedOf,
  excessOf,
  type Growth,
  INSTANCES,
  type QuotaExcess,
  type QuotaState,
} from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';

const NOTHING: readonly QuotaExcess[] = [];
const NO_GROWTH: Growth = new Map();

/** Amounts that count besides the instances. */
interface QuotaTerms {
  /** Amounts of each instance beyond the required ones. */
  readonly more?: Resources;
  /** They count as held. */
  readonly nominations?: readonly PlaceLease[];
  /** Amounts given back, by project. */
  readonly givenBack?: Growth;
  /** Amounts that the project is about to take besides. */
  readonly besides?: Resources | undefined;
}

/**
 * The limits that instances of a spec would exceed, by the rule of the store. What they hold already is given back by their
 * claims, or counts, when they are moved, only as far as it is more than what they get: `keptForMove`.
 */
export function quotaExceeded(
  spec: Pick<RequestSpec, 'projectId'> & QuotaAsked,
  instanceUuids: readonly string[],
  view: Pick<PlacementView, 'quotas' | 'consumer'>,
  { more = {}, nominations = [], givenBack = NO_GROWTH, besides = {} }: QuotaTerms = {},
): readonly QuotaExcess[] {
  const { projectId } = spec;
  const { quotas } = view;
  // Most projects have none.
  if (!quotas.quota(projectId) && !quotas.defaultQuota()) return NOTHING;
  const growth: Record<string, number> = { ...askedOf(spec, instanceUuids.length, more) };
  for (const uuid of instanceUuids) {
    const held = view.consumer(uuid);
    if (held?.projectId !== projectId) continue;
    for (const [name, amount] of Object.entries(countedOf(held))) growth[name] = (growth[name] ?? 0) - amount;
  }
  for (const [name, amount] of Object.entries(besides)) growth[name] = (growth[name] ?? 0) + amount;
  return excessOf(new Map([[projectId, growth]]), withOthers(quotas, nominations, givenBack));
}

type QuotaAsked = Pick<RequestSpec, 'resources' | 'requestGroups'> & Pick<DevicesAsked, 'deviceRequests'>;

/** The least that so many instances count in a quota: of devices a host may give alternatives that take more. */
export function askedOf(
  { resources, requestGroups, deviceRequests }: QuotaAsked,
  instanceCount: number,
  more: Resources = {},
): Resources {
  const each = [
    resources,
    more,
    leastDevices({ deviceRequests }),
    ...requestGroups.map((group) => group.resources),
  ].reduce(addResources, {
    [INSTANCES]: 1,
  });
  return Object.fromEntries(Object.entries(each).map(([name, amount]) => [name, amount * instanceCount]));
}

function withOthers(quotas: QuotaState, nominations: readonly PlaceLease[], givenBack: Growth): QuotaState {
  if (nominations.length + givenBack.size === 0) return quotas;
  const more = new Map<string, Resources>();
  for (const [projectId, amounts] of givenBack) more.set(projectId, negated(amounts));
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
