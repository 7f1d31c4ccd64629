import { metadataOf } from '#libs/domain/grouping/aggregate';
import { capacityOf } from '#libs/domain/inventory';
import type { HostState } from '../fleet/host-state';
import type { EquivalenceClass } from '../request/equivalence-class';
import type { Expression, RuleInput } from './expression';

/** The side of a host. States are immutable, and each rule of each class asks for it. */
function hostInput(state: HostState): Pick<RuleInput, 'host' | 'load'> {
  const known = KNOWN.get(state);
  if (known) return known;
  const { host, aggregates, traits, inventories, free } = state;
  const names = new Set(aggregates.flatMap(({ metadata }) => Object.keys(metadata)));
  const made = {
    host: {
      name: host.name,
      aggregates: aggregates.map(({ name }) => name),
      metadata: Object.fromEntries([...names].map((name) => [name, metadataOf(aggregates, name)])),
      capabilities: host.capabilities,
      traits: [...traits],
      capacity: Object.fromEntries(Object.entries(inventories).map(([name, one]) => [name, capacityOf(one)])),
    },
    load: {
      free,
      instances: state.instances,
      builds_in_progress: state.buildsInProgress,
      recent_failures: state.recentFailures,
    },
  };
  KNOWN.set(state, made);
  return made;
}

const KNOWN = new WeakMap<HostState, Pick<RuleInput, 'host' | 'load'>>();

/** Evaluates an expression for requests of a class, on any host; throws as `Expression.evaluate`. */
export function evaluatorFor(expression: Expression, asked: EquivalenceClass): (host: HostState) => unknown {
  const request = requestInput(asked);
  return (host) => expression.evaluate({ ...hostInput(host), request });
}

function requestInput(asked: EquivalenceClass): RuleInput['request'] {
  return {
    resources: asked.resources,
    required_traits: asked.requiredTraits,
    forbidden_traits: asked.forbiddenTraits,
    extra_specs: asked.extraSpecs,
    image_properties: asked.imageProperties,
    availability_zone: asked.availabilityZone ?? '',
  };
}
