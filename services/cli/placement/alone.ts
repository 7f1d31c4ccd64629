import { inFlight } from '../pool';
import { type Filter, queryOf } from './filter-flags';
import { CALLS_IN_FLIGHT, type PlacementClient } from './placement-client';
import { amountsIn, type Group } from './request-groups';

/** One condition of a request, and how many providers meet it when nothing else is asked of them. */
export interface Alone {
  readonly suffix: string;
  readonly condition: string;
  readonly providerCount: number;
}

/** Takes a request that nothing meets apart: a condition that no provider meets is to blame. */
export async function askAlone(client: PlacementClient, groups: readonly Group[]): Promise<Alone[]> {
  const conditions = groups.flatMap((group) => conditionsOf(group).map((it) => ({ suffix: group.suffix, ...it })));
  const counts = new Map<(typeof conditions)[number], number>();
  await inFlight(conditions, CALLS_IN_FLIGHT, async (it) => {
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
