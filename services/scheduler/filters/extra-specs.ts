import type { HostState } from '../fleet/host-state';
import { matchesSpec } from './extra-spec-match';
import type { AggregateFacts, Check, ClassFilter, Reason } from './filter';

/**
 * aggregate_extra_specs: only hosts whose aggregates have the facts that the flavor's extra specs ask for.
 *
 * Keys are `aggregate_instance_extra_specs:<name>` or a bare `<name>`; keys of other scopes are not looked at. Facts of
 * aggregates are given with `BERTH_SCHEDULER_AGGREGATE_FACTS`, the same to all schedulers; what the host's own agent
 * reports as a capability of the name counts as well. One value must match; a host without the fact is refused. Values
 * may use the operators of Nova's extra specs (`s==`, `>=`, `<in>`, `<or>`, ...). Reason: `extra_spec_<name>`.
 */
export const extraSpecsFilter: ClassFilter = {
  kind: 'class',
  name: 'aggregate_extra_specs',
  prepare: ({ extraSpecs }, { aggregateFacts }) =>
    Object.entries(extraSpecs).flatMap(([key, wanted]) => {
      const name = nameIn(key);
      return name === undefined ? [] : [has(name, wanted, aggregateFacts)];
    }),
};

const SCOPE = 'aggregate_instance_extra_specs:';

function nameIn(key: string): string | undefined {
  if (key.startsWith(SCOPE)) return key.slice(SCOPE.length);
  return key.includes(':') ? undefined : key;
}

function has(name: string, wanted: string, aggregateFacts: AggregateFacts): Check {
  const reason: Reason = { symbol: `extra_spec_${name}`, phrase: `do not have ${name} ${wanted}` };
  return {
    refuse: (host) =>
      valuesOf(name, host, aggregateFacts).some((value) => matchesSpec(value, wanted)) ? undefined : reason,
    describe: (host) =>
      `wants ${name} '${wanted}', the host's aggregates have ${valuesOf(name, host, aggregateFacts).join(', ') || 'no such fact'}`,
  };
}

function valuesOf(name: string, { host, root }: HostState, aggregateFacts: AggregateFacts): readonly string[] {
  const own = host.capabilities[name] ?? [];
  if (aggregateFacts.size === 0) return own;
  return [...own, ...root.aggregates.flatMap((aggregate) => [...(aggregateFacts.get(aggregate)?.get(name) ?? [])])];
}
