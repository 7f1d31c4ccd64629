import type { FleetFacts } from '../fleet/columns';
import type { Check, Reason, ShapeFilter } from './filter';

/**
 * aggregates: only hosts in one aggregate of each `member_of` list, and in none of the forbidden aggregates.
 *
 * What counts are the aggregates of the host's root provider. Reasons: `not_in_aggregate`, `in_forbidden_aggregate`.
 */
export const aggregatesFilter: ShapeFilter = {
  kind: 'shape',
  name: 'aggregates',
  prepare: ({ memberOf, forbiddenAggregates }, facts) => [
    ...memberOf.map((anyOf) => member(anyOf, facts)),
    ...(forbiddenAggregates.length > 0 ? [stranger(forbiddenAggregates, facts)] : []),
  ],
};

const NOT_IN: Reason = { symbol: 'not_in_aggregate', phrase: 'are not in the aggregates asked for' };
const FORBIDDEN: Reason = { symbol: 'in_forbidden_aggregate', phrase: 'are in a forbidden aggregate' };

function member(anyOf: readonly string[], facts: FleetFacts): Check {
  const sets = anyOf.map((aggregate) => facts.inAggregate(aggregate));
  return {
    refuse: ({ index }) => (sets.some((set) => set.has(index)) ? undefined : NOT_IN),
    describe: () => `wants a host in ${anyOf.length > 1 ? 'one of the aggregates' : 'aggregate'} ${anyOf.join(', ')}`,
  };
}

function stranger(aggregates: readonly string[], facts: FleetFacts): Check {
  const sets = aggregates.map((aggregate) => facts.inAggregate(aggregate));
  return {
    refuse: ({ index }) => (sets.some((set) => set.has(index)) ? FORBIDDEN : undefined),
    describe: ({ root }) => `the host is in ${root.aggregates.filter((a) => aggregates.includes(a)).join(', ')}`,
  };
}
