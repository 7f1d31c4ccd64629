import { CALLS_IN_FLIGHT, type PlacementClient } from '../../client/placement-client';
import { forEachConcurrently } from '../../concurrent';
import { type Filter, queryOf } from '../filter-flags';
import { amountsIn, type Group } from '../group-flag';

/** One condition of a request, and the number of providers that meet it. */
export interface ConditionCount {
  readonly suffix: string;
  readonly condition: string;
  readonly providerCount: number;
}

/** Counts the providers that meet each condition by itself: one that none meets explains why there is no candidate. */
export async function countByCondition(client: PlacementClient, groups: readonly Group[]): Promise<ConditionCount[]> {
  const conditions = groups.flatMap((group) => conditionsOf(group).map((it) => ({ suffix: group.suffix, ...it })));
  const counts = new Map<(typeof conditions)[number], number>();
  await forEachConcurrently(conditions, CALLS_IN_FLIGHT, async (it) => {
    counts.set(it, (await client.providers(await queryOf(client, it.filter))).length);
  });
  return conditions.map((it) => ({ suffix: it.suffix, condition: it.condition, providerCount: counts.get(it) ?? 0 }));
}

function conditionsOf(group: Filter): { readonly condition: string; readonly filter: Filter }[] {
  const nothing: Filter = { required: [], forbidden: [], memberOf: [] };
  const { inTree } = group;
  return [
    ...amountsIn(group.resources ?? '').map(
      (resources) => [`resources ${resources}`, { ...nothing, resources }] as const,
    ),
    ...group.required.map((traits) => [`required ${traits}`, { ...nothing, required: [traits] }] as const),
    ...group.forbidden.map((traits) => [`forbidden ${traits}`, { ...nothing, forbidden: [traits] }] as const),
    ...group.memberOf.map((uuids) => [`member of ${uuids}`, { ...nothing, memberOf: [uuids] }] as const),
    ...(inTree === undefined ? [] : [[`in the tree of ${inTree}`, { ...nothing, inTree }] as const]),
  ].map(([condition, filter]) => ({ condition, filter }));
}
