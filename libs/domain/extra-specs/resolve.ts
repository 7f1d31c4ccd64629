import { type BerthError, invalidArgument } from '../errors';
import type { Resources } from '../inventory';
import { requireResourceClass, requireTrait } from '../naming/known-names';
import type { RequestGroup, RequestSpec } from '../request-spec';
import { type ExtraSpecError, extraSpecError, type ParsedExtraSpecs, parseExtraSpecs } from './parse';
import { type Topology, topologyOf } from './topology';

/** A request spec whose extra specs are merged into its own fields. */
export interface ResolvedSpec extends RequestSpec {
  readonly origins: ExtraSpecOrigins;
}

/** Keys of the extra specs that ask for a class, a trait or a request group, for explanations. */
export interface ExtraSpecOrigins {
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly traits: Readonly<Record<string, readonly string[]>>;
  /** By suffix. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

/** Origins of a request without extra specs. */
export const NO_ORIGINS: ExtraSpecOrigins = { resources: {}, traits: {}, groups: {} };

/**
 * Merges the extra specs into a request spec as Nova reads those of a flavor: amounts, traits and groups join those
 * given in the spec (an amount of the request's own group replaces it, 0 removes it), `hw:` shapes processors and
 * memory. `extraSpecs` keeps only the required aggregate metadata.
 *
 * @param field  the path of the spec, for errors
 * @throws BerthError `invalid_argument / unknown_resource_class`, `unknown_trait`, `unknown_extra_spec`,
 *   `bad_extra_spec`, `conflicting_extra_specs`, `missing_field` (it asks for no resources), or `flavor_not_resolved`
 *   (it names a flavor only).
 */
export function resolveSpec(spec: RequestSpec, field: string): ResolvedSpec {
  if (spec.flavor?.version === 0) throw notResolved(`${field}.flavor`);
  const resolved = hasKeys(spec.extraSpecs) ? withExtraSpecs(spec, field) : { ...spec, origins: NO_ORIGINS };
  requireKnownNames(spec, field);
  const isAsking = [resolved, ...resolved.requestGroups].some(({ resources }) => hasKeys(resources));
  if (!isAsking) throw invalidArgument('missing_field', `${field}.resources is missing`, `${field}.resources`);
  return resolved;
}

/** Every request passes here, whichever interface it comes from; an impossible host name is refused by its field. */
function requireKnownNames(spec: RequestSpec, field: string): void {
  for (const name in spec.resources) requireResourceClass(name, `${field}.resources`);
  for (const name in spec.preferredResources) requireResourceClass(name, `${field}.preferred_resources`);
  for (const [list, name] of TRAIT_LISTS) for (const one of spec[list]) requireTrait(one, `${field}.${name}`);
  for (const [n, group] of spec.requestGroups.entries()) {
    const at = `${field}.request_groups[${n}]`;
    for (const name in group.resources) requireResourceClass(name, `${at}.resources`);
    for (const one of group.requiredTraits.flat()) requireTrait(one, `${at}.required_traits`);
    for (const one of group.forbiddenTraits) requireTrait(one, `${at}.forbidden_traits`);
  }
}

const TRAIT_LISTS = [
  ['requiredTraits', 'required_traits'],
  ['forbiddenTraits', 'forbidden_traits'],
  ['preferredTraits', 'preferred_traits'],
  ['rootRequiredTraits', 'root_required_traits'],
  ['rootForbiddenTraits', 'root_forbidden_traits'],
] as const;

function withExtraSpecs(spec: RequestSpec, field: string): ResolvedSpec {
  const error = extraSpecError(`${field}.extra_specs`);
  const said = parseExtraSpecs(spec.extraSpecs, error);
  const amounts = ownAmounts(spec.resources, said);
  const topology = said.hardware.size === 0 ? undefined : topologyFor(said, amounts, error);
  const groups = groupsOf(said, error);
  const added = [...groups, ...(topology?.groups ?? []).map(asGroup)];
  refuseTwice([...spec.requestGroups, ...added], error);
  const traitsWith = (wish: string) =>
    said.traits.filter((one) => one.suffix === '' && one.wish === wish).map(({ trait }) => trait);
  return {
    ...spec,
    resources: topology === undefined ? amounts : shapedBy(topology, amounts),
    requiredTraits: union(spec.requiredTraits, traitsWith('required')),
    forbiddenTraits: union(spec.forbiddenTraits, traitsWith('forbidden')),
    preferredTraits: union(spec.preferredTraits, traitsWith('preferred')),
    preferredResources: { ...spec.preferredResources, ...asResources(said.preferredAmounts) },
    extraSpecs: said.filterSpecs,
    requestGroups: [...spec.requestGroups, ...added],
    groupPolicy: policyOf(spec, said, { groups, topology }, error),
    sameSubtrees: [...spec.sameSubtrees, ...(topology?.sameSubtrees ?? [])],
    origins: originsOf(said, topology),
  };
}

/** The amounts of the unnumbered group. */
function ownAmounts(spelledOut: Resources, { amounts }: ParsedExtraSpecs): Resources {
  const own = amounts.filter(({ suffix }) => suffix === '');
  const all = Object.entries({ ...spelledOut, ...asResources(own) });
  return Object.fromEntries(all.filter(([, amount]) => amount > 0));
}

/** `hw:` reshapes the flavor's VCPU and MEMORY_MB; other extra specs must not set the amounts it makes. */
function topologyFor(said: ParsedExtraSpecs, amounts: Resources, error: ExtraSpecError): Topology {
  const { hardware } = said;
  const shaped = [
    'VCPU',
    'PCPU',
    ...(hardware.has('numa_nodes') || hardware.has('mem_page_size') ? ['MEMORY_MB'] : []),
  ];
  const other = said.amounts.find(({ resourceClass }) => shaped.includes(resourceClass));
  const names = [...hardware.keys()].map((name) => `hw:${name}`).join(', ');
  if (other) throw error('conflicting_extra_specs', other.key, `says in another way what ${names} says: take one out`);
  if (amounts['PCPU'] !== undefined) {
    throw error('conflicting_extra_specs', names, 'is about VCPU, of which it makes PCPU: ask for VCPU only');
  }
  return topologyOf({ hardware, vcpus: amounts['VCPU'] ?? 0, memoryMb: amounts['MEMORY_MB'] ?? 0, error });
}

/** The amounts, with the reshaped processors and memory in place of VCPU and MEMORY_MB. */
function shapedBy(topology: Topology, amounts: Resources): Resources {
  const others = Object.entries(amounts).filter(([name]) => name !== 'VCPU' && name !== 'MEMORY_MB');
  return { ...Object.fromEntries(others), ...topology.resources };
}

/** The numbered and named groups; a group of traits alone is refused, as in Nova. */
function groupsOf({ amounts, traits }: ParsedExtraSpecs, error: ExtraSpecError): RequestGroup[] {
  const suffixes = new Set(amounts.map(({ suffix }) => suffix).filter((suffix) => suffix !== ''));
  const bare = traits.find(({ suffix }) => suffix !== '' && !suffixes.has(suffix));
  if (bare) throw error('conflicting_extra_specs', bare.key, `is about a group that no resources${bare.suffix}: makes`);
  return [...suffixes].map((suffix) => {
    const isOfIt = (one: { readonly suffix: string }) => one.suffix === suffix;
    const wishes = traits.filter(isOfIt);
    return {
      ...asGroup({
        suffix,
        resources: asResources(amounts.filter(isOfIt)),
        requiredTraits: wishes.filter(({ wish }) => wish === 'required').map(({ trait }) => [trait]),
      }),
      forbiddenTraits: wishes.filter(({ wish }) => wish === 'forbidden').map(({ trait }) => trait),
    };
  });
}

function asGroup({ suffix, resources, requiredTraits }: Pick<RequestGroup, 'suffix' | 'resources' | 'requiredTraits'>) {
  return {
    suffix,
    resources,
    requiredTraits,
    forbiddenTraits: [],
    memberOf: [],
    forbiddenAggregates: [],
    inTree: undefined,
  };
}

function refuseTwice(groups: readonly RequestGroup[], error: ExtraSpecError): void {
  const twice = groups.find(({ suffix }, i) => groups.findIndex((other) => other.suffix === suffix) !== i);
  if (twice) throw error('conflicting_extra_specs', `resources${twice.suffix}`, 'names a group that there is already');
}

/** Several numbered groups need a policy, as in Nova; several NUMA nodes are always on nodes of their own. */
function policyOf(
  spec: RequestSpec,
  { groupPolicy }: ParsedExtraSpecs,
  { groups, topology }: { readonly groups: readonly RequestGroup[]; readonly topology: Topology | undefined },
  error: ExtraSpecError,
): RequestSpec['groupPolicy'] {
  if (groups.length > 1 && groupPolicy === undefined && spec.groupPolicy === 'none') {
    throw error('conflicting_extra_specs', 'group_policy', 'is missing: with several groups it is isolate or none');
  }
  const isApart = (topology?.groups ?? []).filter(({ suffix }) => suffix.startsWith('_numa')).length > 1;
  if (isApart && groupPolicy === 'none') {
    throw error('conflicting_extra_specs', 'group_policy', 'must be isolate with several NUMA nodes');
  }
  return isApart ? 'isolate' : spec.groupPolicy === 'isolate' ? 'isolate' : (groupPolicy ?? 'none');
}

function originsOf(said: ParsedExtraSpecs, topology: Topology | undefined): ExtraSpecOrigins {
  const resources = new Origins();
  const traits = new Origins();
  const groups = new Origins();
  for (const { key, resourceClass, suffix } of said.amounts) {
    resources.add(resourceClass, key);
    if (suffix !== '') groups.add(suffix, key);
  }
  for (const { key, resourceClass } of said.preferredAmounts) resources.add(resourceClass, key);
  for (const { key, trait, suffix } of said.traits) {
    if (suffix === '') traits.add(trait, key);
    else groups.add(suffix, key);
  }
  const hasDedicated = [topology, ...(topology?.groups ?? [])].some((part) => part?.resources['PCPU'] !== undefined);
  if (hasDedicated) resources.add('PCPU', 'hw:cpu_policy');
  for (const { key, suffix, resources: shaped } of topology?.groups ?? []) {
    groups.add(suffix, key);
    for (const name of Object.keys(shaped)) resources.add(name, key);
  }
  return { resources: resources.byName(), traits: traits.byName(), groups: groups.byName() };
}

/** Keys of extra specs by what they ask for, each once. */
class Origins {
  private readonly keys = new Map<string, Set<string>>();

  add(name: string, key: string): void {
    this.keys.set(name, (this.keys.get(name) ?? new Set()).add(key));
  }

  byName(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries([...this.keys].map(([name, keys]) => [name, [...keys]]));
  }
}

function asResources(amounts: readonly { readonly resourceClass: string; readonly amount: number }[]): Resources {
  return Object.fromEntries(amounts.map(({ resourceClass, amount }) => [resourceClass, amount]));
}

function union(names: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? names : [...new Set([...names, ...more])];
}

function hasKeys(map: Readonly<Record<string, unknown>>): boolean {
  for (const _ in map) return true;
  return false;
}

function notResolved(field: string): BerthError {
  const message = `${field} must come with its version and what it says: ask for the flavor and spell it out`;
  return invalidArgument('flavor_not_resolved', message, field);
}
