import type { Check, ClassFilter, Reason } from './filter';

/**
 * aggregates: only hosts in one aggregate of each `member_of` list, and in none of the forbidden aggregates.
 *
 * The aggregates of the host's root provider count. Reasons: `not_in_aggregate`, `in_forbidden_aggregate`.
 */
export const aggregatesFilter: ClassFilter = {
  kind: 'class',
  name: 'aggregates',
  saysWhere: true,
  prepare: ({ memberOf, forbiddenAggregates }) => [
    ...memberOf.map(inOneOf),
    ...(forbiddenAggregates.length > 0 ? [inNoneOf(forbiddenAggregates)] : []),
  ],
};

const NOT_IN: Reason = { symbol: 'not_in_aggregate', phrase: 'are not in the aggregates asked for' };
const FORBIDDEN: Reason = { symbol: 'in_forbidden_aggregate', phrase: 'are in a forbidden aggregate' };

function inOneOf(wanted: readonly string[]): Check {
  return {
    refuse: ({ root }) => (root.aggregates.some((aggregate) => wanted.includes(aggregate)) ? undefined : NOT_IN),
    describe: () => `wants a host in ${wanted.length > 1 ? 'one of the aggregates' : 'aggregate'} ${wanted.join(', ')}`,
  };
}

function inNoneOf(forbidden: readonly string[]): Check {
  return {
    refuse: ({ root }) => (root.aggregates.some((aggregate) => forbidden.includes(aggregate)) ? FORBIDDEN : undefined),
    describe: ({ root }) => `the host is in ${root.aggregates.filter((one) => forbidden.includes(one)).join(', ')}`,
  };
}
