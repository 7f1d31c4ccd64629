import { mapConcurrently } from '#libs/runtime/concurrent';
import { CALLS_IN_FLIGHT, type PlacementClient } from '../../client/placement-client';
import { type Filter, queryOf } from '../filter-flags';
import { amountsIn, type Group } from '../group-flag';

/**
 * Counts the providers that meet each condition alone: a condition that none meets explains why there is no candidate.
 */
export function countByCondition(client: PlacementClient, groups: readonly Group[]) {
  return mapConcurrently(groups.flatMap(conditionsOf), CALLS_IN_FLIGHT, async ({ filter, ...rest }) => {
    const meeting = await client.providers(await queryOf(client, filter));
    return { ...rest, providerCount: meeting.length };
  });
}

interface Condition {
  /** Suffix of the group. */
  readonly suffix: string;
  /** In words. */
  readonly condition: string;
  readonly filter: Partial<Filter>;
}

function conditionsOf({ suffix, resources = '', required, forbidden, memberOf, inTree }: Group): Condition[] {
  return [
    ...amountsIn(resources).map((it) => ({ suffix, condition: `resources ${it}`, filter: { resources: it } })),
    ...required.map((it) => ({ suffix, condition: `required ${it}`, filter: { required: [it] } })),
    ...forbidden.map((it) => ({ suffix, condition: `forbidden ${it}`, filter: { forbidden: [it] } })),
    ...memberOf.map((it) => ({ suffix, condition: `member of ${it}`, filter: { memberOf: [it] } })),
    ...(inTree === undefined ? [] : [{ suffix, condition: `in the tree of ${inTree}`, filter: { inTree } }]),
  ];
}
