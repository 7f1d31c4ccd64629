import { type DeviceRequest, deviceCount } from '../devices/device-request';
import { MAX_DEVICE_REQUESTS, MAX_DEVICES_ASKED } from '../devices/limits';
import { type BerthError, invalidArgument } from '../errors';
import type { Resources } from '../inventory';
import { requireResourceClass, requireTrait } from '../naming/known-names';
import type { RequestGroup, RequestSpec } from '../request-spec';
import {
  AFFINITY,
  affinityOf,
  affinityPolicy,
  type DeviceAffinity,
  isDeviceGroup,
  refusePreferredDevices,
  withDevicesApart,
} from './device-affinity';
import { IMAGE_WISHES, isImageWish } from './image-properties';
import { withImageWishes } from './image-wishes';
import {
  DEVICE_SCOPE,
  type ExtraSpecError,
  extraSpecError,
  type ParsedExtraSpecs,
  parseExtraSpecs,
  type TraitSpec,
} from './parse';
import { type Processors, processorsOf, SHARED_PROCESSORS } from './processors';
import { type Shape, shapeOf } from './shape';
import type { Topology } from './topology';

/** A request spec whose extra specs are merged into its own fields. */
export interface ResolvedSpec extends RequestSpec {
  /** Undefined when devices may be anywhere. */
  readonly deviceAffinity?: DeviceAffinity | undefined;
  readonly origins: ExtraSpecOrigins;
}

/** Keys of the extra specs and image properties that ask for a class, a trait or a request group, for explanations. */
export interface ExtraSpecOrigins {
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly traits: Readonly<Record<string, readonly string[]>>;
  /** By suffix. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** The bond of devices to NUMA nodes. */
  readonly affinity?: readonly string[];
}

/** Origins of a request without extra specs. */
export const NO_ORIGINS: ExtraSpecOrigins = { resources: {}, traits: {}, groups: {} };

/**
 * Merges the extra specs into a request spec as Nova reads those of a flavor: amounts, traits and groups join those
 * given in the spec (an amount of the request's own group replaces it, 0 removes it), `hw:` and the image's properties of
 * the same meaning shape processors and memory. `extraSpecs` keeps only the required aggregate metadata, `imageProperties` what a host is compared with.
 *
 * @param field  the path of the spec, for errors
 * @throws BerthError `invalid_argument / unknown_resource_class`, `unknown_trait`, `unknown_extra_spec`,
 *   `bad_extra_spec`, `conflicting_extra_specs`, `missing_field` (it asks for no resources), or `flavor_not_resolved`
 *   (it names a flavor only).
 */
export function resolveSpec(spec: RequestSpec, field: string): ResolvedSpec {
  if (spec.flavor?.version === 0) throw notResolved(`${field}.flavor`);
  const isPlain = !hasKeys(spec.extraSpecs) && !hasImageWish(spec);
  const resolved = isPlain ? { ...spec, origins: NO_ORIGINS } : withExtraSpecs(spec, field);
  requireKnownNames(spec, field);
  const isAsking = [resolved, ...resolved.requestGroups].some(({ resources }) => hasKeys(resources));
  if (!isAsking) throw invalidArgument('missing_field', `${field}.resources is missing`, `${field}.resources`);
  return resolved;
}

/** The requests of devices of a spec that was resolved before: its own, and those of its extra specs. @throws BerthError as `resolveSpec`. */
export function deviceRequestsFor({ deviceRequests, extraSpecs }: DeviceSpec): readonly DeviceRequest[] {
  if (!hasKeys(extraSpecs)) return deviceRequests;
  return [...deviceRequests, ...parseExtraSpecs(extraSpecs, extraSpecError('request_spec')).deviceRequests];
}

type DeviceSpec = Pick<RequestSpec, 'extraSpecs' | 'deviceRequests'>;

/** The processors of a spec that was resolved before, for drivers. @throws BerthError as `resolveSpec`. */
export function processorsFor({ extraSpecs, imageProperties, resources }: HardwareSpec): Processors {
  const error = extraSpecError('request_spec');
  const wishes = withImageWishes(parseExtraSpecs(extraSpecs, error).hardware, imageProperties, error);
  const { VCPU: vcpus = 0 } = resources;
  return wishes.hardware.size === 0 ? SHARED_PROCESSORS : processorsOf({ ...wishes, vcpus, error });
}

type HardwareSpec = Pick<RequestSpec, 'extraSpecs' | 'imageProperties' | 'resources'>;

/** Every request passes here, whichever interface it comes from; an impossible host name is refused by its field. */
function requireKnownNames(spec: RequestSpec, field: string): void {
  for (const name in spec.resources) requireResourceClass(name, `${field}.resources`);
  for (const name in spec.preferredResources) requireResourceClass(name, `${field}.preferred_resources`);
  for (const [list, name] of TRAIT_LISTS) for (const one of spec[list]) requireTrait(one, `${field}.${name}`);
  for (const [n, { firstAvailable }] of spec.deviceRequests.entries()) {
    for (const [m, { resourceClass }] of firstAvailable.entries()) {
      const at = `${field}.device_requests[${n}].first_available[${m}]`;
      if (resourceClass !== undefined) requireResourceClass(resourceClass, `${at}.resource_class`);
    }
  }
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
  const error = extraSpecError(field);
  const said = parseExtraSpecs(spec.extraSpecs, error);
  const wishes = withImageWishes(said.hardware, spec.imageProperties, error);
  const groups = groupsOf(said, error);
  const policy = affinityPolicy(wishes, error);
  if (policy !== undefined) refusePreferredDevices(said, error);
  const { amounts, deviceGroups } = withDevicesApart(ownAmounts(spec.resources, said), policy);
  const own = [...spec.requestGroups, ...groups];
  const deviceRequests = withDeviceRequests(spec, said, error);
  const hasDevices = [...own, ...deviceGroups].some(isDeviceGroup) || deviceRequests.length > 0;
  const impliedBy = policy === 'required' && hasDevices ? wishes.keyOf(AFFINITY) : undefined;
  const shape = wishes.hardware.size === 0 ? undefined : shapeOf(said, { ...wishes, amounts, impliedBy }, error);
  const topology = shape?.topology;
  const hostTraits = shape?.traits ?? [];
  const all = [...own, ...[...deviceGroups, ...(topology?.groups ?? [])].map(asGroup)];
  refuseTwice(all, error);
  const ownTraits = said.traits.filter(({ suffix }) => suffix === '');
  const affinity = policy && hasDevices ? affinityOf(policy, topology, all) : undefined;
  return {
    ...spec,
    resources: topology === undefined ? amounts : shapedBy(topology, amounts),
    requiredTraits: union(spec.requiredTraits, namesOf(ownTraits, 'required')),
    forbiddenTraits: union(spec.forbiddenTraits, namesOf(ownTraits, 'forbidden')),
    preferredTraits: union(spec.preferredTraits, namesOf(ownTraits, 'preferred')),
    preferredResources: { ...spec.preferredResources, ...asResources(said.preferredAmounts) },
    extraSpecs: said.filterSpecs,
    imageProperties: withoutWishes(spec.imageProperties),
    requestGroups: all,
    groupPolicy: policyOf(spec, said, { groups, topology }, error),
    sameSubtrees: [...spec.sameSubtrees, ...(topology?.sameSubtrees ?? [])],
    rootRequiredTraits: union(spec.rootRequiredTraits, namesOf(hostTraits, 'required')),
    rootForbiddenTraits: union(spec.rootForbiddenTraits, namesOf(hostTraits, 'forbidden')),
    deviceRequests,
    ...(affinity && { deviceAffinity: affinity }),
    origins: originsOf(said, shape, affinity),
  };
}

/** The amounts of the unnumbered group. */
function ownAmounts(spelledOut: Resources, { amounts }: ParsedExtraSpecs): Resources {
  const own = amounts.filter(({ suffix }) => suffix === '');
  const all = Object.entries({ ...spelledOut, ...asResources(own) });
  return Object.fromEntries(all.filter(([, amount]) => amount > 0));
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

/** The requests of devices of a spec, and those of its extra specs behind them. */
function withDeviceRequests(
  { deviceRequests: own }: RequestSpec,
  { deviceRequests: more }: ParsedExtraSpecs,
  error: ExtraSpecError,
): readonly DeviceRequest[] {
  const [first] = more;
  if (first === undefined) return own;
  const twice = more.find(({ name }) => own.some((other) => other.name === name));
  if (twice) {
    const message = 'names devices that the request asks for as well, under the same name';
    throw error('conflicting_extra_specs', `${DEVICE_SCOPE}${twice.name}`, message);
  }
  const all = [...own, ...more];
  if (all.length <= MAX_DEVICE_REQUESTS && deviceCount(all) <= MAX_DEVICES_ASKED) return all;
  const message = `is one too many: there are at most ${MAX_DEVICE_REQUESTS} requests, and ${MAX_DEVICES_ASKED} devices`;
  throw error('conflicting_extra_specs', `${DEVICE_SCOPE}${more.at(-1)?.name}`, message);
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

function originsOf(
  said: ParsedExtraSpecs,
  shape: Shape | undefined,
  affinity: DeviceAffinity | undefined,
): ExtraSpecOrigins {
  const topology = shape?.topology;
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
  if (shape && hasDedicated) resources.add('PCPU', shape.keyOf('cpu_policy'));
  if (shape?.processors.emulatorThreads === 'isolate') resources.add('PCPU', shape.keyOf('emulator_threads_policy'));
  for (const { trait, key } of shape?.traits ?? []) traits.add(trait, key);
  for (const { key, suffix, resources: shaped } of topology?.groups ?? []) {
    groups.add(suffix, key);
    for (const name of Object.keys(shaped)) resources.add(name, key);
  }
  const bond = shape && affinity && { affinity: [shape.keyOf(AFFINITY)] };
  return { resources: resources.byName(), traits: traits.byName(), groups: groups.byName(), ...bond };
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

function namesOf(traits: readonly Omit<TraitSpec, 'suffix'>[], wish: TraitSpec['wish']): readonly string[] {
  return traits.filter((one) => one.wish === wish).map(({ trait }) => trait);
}

function withoutWishes(properties: RequestSpec['imageProperties']): RequestSpec['imageProperties'] {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !isImageWish(name)));
}

function hasImageWish({ imageProperties }: RequestSpec): boolean {
  return IMAGE_WISHES.some((name) => (imageProperties[name] ?? '') !== '');
}

function hasKeys(map: Readonly<Record<string, unknown>>): boolean {
  for (const _ in map) return true;
  return false;
}

function notResolved(field: string): BerthError {
  const message = `${field} must come with its version and what it says: ask for the flavor and spell it out`;
  return invalidArgument('flavor_not_resolved', message, field);
}
