import { matchesSpec } from '#libs/domain/extra-specs/matches-spec';
import { AGGREGATE_SCOPE } from '#libs/domain/extra-specs/parse';
import { metadataOf } from '#libs/domain/grouping/aggregate';
import type { HostState } from '../fleet/host-state';
import type { Check, ClassFilter, Reason } from './filter';

/**
 * aggregate_extra_specs: only hosts whose aggregates have the metadata that the flavor's extra specs ask for.
 *
 * Keys are `aggregate_instance_extra_specs:<name>` or a bare `<name>`; keys of other scopes are not looked at. What
 * the host's own agent reports as a capability of the name counts as well as the metadata of its aggregates, where commas
 * separate values. One value must match; a host without any is refused. Extra specs may use the operators of Nova's extra specs (`s==`, `>=`, `<in>`, `<or>`, ...). Reason: `extra_spec_<name>`.
 */
export const extraSpecsFilter: ClassFilter = {
  kind: 'class',
  name: 'aggregate_extra_specs',
  saysWhere: true,
  prepare: ({ extraSpecs }) =>
    Object.entries(extraSpecs).flatMap(([key, wanted]) => {
      const name = nameIn(key);
      return name === undefined ? [] : [has(name, wanted)];
    }),
};

function nameIn(key: string): string | undefined {
  if (key.startsWith(AGGREGATE_SCOPE)) return key.slice(AGGREGATE_SCOPE.length);
  return key.includes(':') ? undefined : key;
}

function has(name: string, wanted: string): Check {
  const reason: Reason = { symbol: `extra_spec_${name}`, phrase: `do not have ${name} ${wanted}` };
  return {
    refuse: (host) => (valuesOf(name, host).some((value) => matchesSpec(value, wanted)) ? undefined : reason),
    describe: (host) =>
      `wants ${name} '${wanted}', the host's aggregates have ${valuesOf(name, host).join(', ') || 'no such metadata'}`,
  };
}

function valuesOf(name: string, { host, aggregates }: HostState): readonly string[] {
  const own = (Object.hasOwn(host.capabilities, name) && host.capabilities[name]) || [];
  return aggregates.length === 0 ? own : [...own, ...metadataOf(aggregates, name)];
}
