import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import type { Resources } from '../domain/inventory';
import type { RequestGroup, RequestSpec } from '../domain/request-spec';
import { boundedReader } from './bounded-reader';
import {
  amounts,
  enumeration,
  hostNames,
  list,
  missing,
  name,
  optionalName,
  pairs,
  requiredAmounts,
  requiredName,
  requiredProjectId,
  text,
  traits,
  uuid,
  uuids,
  whole,
} from './checks';
import { type Codec, codec, type Mutable, type WireMessage } from './codec';
import { MAX_NAMES, MAX_REQUEST_GROUPS } from './limits';
import { maxPartsOf } from './message-rules';
import type { EncodedRequestSpec } from './messages';
import { appendField, cutField } from './opaque-field';
import { groupToWire, namedGroupFromWire } from './placement';

type WireSpec = berth.scheduler.v1.RequestSpec;
type WireGroup = berth.scheduler.v1.RequestGroup;
type WireLists = readonly berth.scheduler.v1.IStringList[];

const { RebuildPolicy } = berth.scheduler.v1;
/** Unspecified is never. */
const rebuildPolicies = enumeration({
  never: RebuildPolicy.REBUILD_POLICY_UNSPECIFIED,
  evacuate: RebuildPolicy.REBUILD_POLICY_EVACUATE,
});

/** A request spec by itself: how an instance keeps it. */
export const requestSpecCodec: Codec<RequestSpec> = codec(
  'berth.scheduler.v1.RequestSpec',
  berth.scheduler.v1.RequestSpec,
  specToWire,
  (wire) => specFromWire(wire, 'request_spec'),
);

/**
 * A codec of a message that carries a request spec which stays encoded, as its field `specField`. `toWire` leaves it
 * out. A message without it is `invalid_argument / missing_field`; what is in it is checked by those who decode it.
 */
export function codecAroundSpec<T extends { readonly requestSpec: EncodedRequestSpec }, P, W>(
  type: string,
  message: WireMessage<P, W>,
  specField: number,
  toWire: (value: T) => P,
  fromWire: (wire: W, requestSpec: EncodedRequestSpec) => T,
): Codec<T> {
  const maxParts = maxPartsOf(type);
  return codec(
    type,
    {
      encode: (value: T) => appendField(message.encode(toWire(value)), specField, value.requestSpec),
      decode(reader) {
        const { field, rest } = cutField(reader.raw(reader.pos, reader.len), specField);
        return { wire: message.decode(boundedReader(rest, maxParts, type)), requestSpec: field };
      },
    },
    (value) => value,
    ({ wire, requestSpec }) => {
      if (!requestSpec) throw missing('request_spec');
      return fromWire(wire, requestSpec);
    },
  );
}

/** Field by field: to spread so many fields takes several times as long as to encode them. */
export function specToWire(request: RequestSpec): berth.scheduler.v1.IRequestSpec {
  const spec = request as Mutable<RequestSpec>;
  return {
    projectId: spec.projectId,
    userId: spec.userId,
    flavor: spec.flavor ?? null,
    resources: spec.resources,
    requiredTraits: spec.requiredTraits,
    forbiddenTraits: spec.forbiddenTraits,
    preferredTraits: spec.preferredTraits,
    preferredResources: spec.preferredResources,
    availabilityZone: spec.availabilityZone,
    memberOf: listsToWire(spec.memberOf),
    forbiddenAggregates: spec.forbiddenAggregates,
    extraSpecs: spec.extraSpecs,
    imageProperties: spec.imageProperties,
    sameHost: spec.sameHost,
    differentHost: spec.differentHost,
    group: spec.group ? groupToWire(spec.group) : null,
    forceHosts: spec.forceHosts,
    ignoreHosts: spec.ignoreHosts,
    requestGroups: spec.requestGroups.map(requestGroupToWire),
    isolateGroups: spec.groupPolicy === 'isolate',
    sameSubtrees: listsToWire(spec.sameSubtrees),
    rootRequiredTraits: spec.rootRequiredTraits,
    rootForbiddenTraits: spec.rootForbiddenTraits,
    rebuildPolicy: rebuildPolicies.toWire(spec.rebuildPolicy),
  } satisfies Record<Exclude<keyof RequestSpec, 'groupPolicy'> | 'isolateGroups', unknown>;
}

export function specFromWire(wire: berth.scheduler.v1.IRequestSpec | null | undefined, field: string): RequestSpec {
  if (!wire) throw missing(field);
  const spec = wire as WireSpec;
  const groups = list(spec.requestGroups, `${field}.request_groups`, MAX_REQUEST_GROUPS, requestGroupFromWire);
  const sameSubtrees = listsFromWire(spec.sameSubtrees, `${field}.same_subtrees`, (one) => one);
  checkGroups(groups, sameSubtrees, field);
  return {
    projectId: requiredProjectId(spec.projectId, `${field}.project_id`),
    userId: requiredName(spec.userId, `${field}.user_id`),
    flavor: flavorFromWire(spec, field),
    resources: resourcesFromWire(spec, field),
    requiredTraits: traits(spec.requiredTraits, `${field}.required_traits`),
    forbiddenTraits: traits(spec.forbiddenTraits, `${field}.forbidden_traits`),
    preferredTraits: traits(spec.preferredTraits, `${field}.preferred_traits`),
    preferredResources: amounts(spec.preferredResources, `${field}.preferred_resources`),
    availabilityZone: optionalName(spec.availabilityZone, `${field}.availability_zone`),
    memberOf: listsFromWire(spec.memberOf, `${field}.member_of`, uuids),
    forbiddenAggregates: uuids(spec.forbiddenAggregates, `${field}.forbidden_aggregates`),
    extraSpecs: pairs(spec.extraSpecs, `${field}.extra_specs`, text),
    imageProperties: pairs(spec.imageProperties, `${field}.image_properties`, text),
    sameHost: uuids(spec.sameHost, `${field}.same_host`),
    differentHost: uuids(spec.differentHost, `${field}.different_host`),
    group: spec.group ? namedGroupFromWire(spec.group, `${field}.group`) : undefined,
    forceHosts: hostNames(spec.forceHosts, `${field}.force_hosts`),
    ignoreHosts: hostNames(spec.ignoreHosts, `${field}.ignore_hosts`),
    requestGroups: groups,
    groupPolicy: spec.isolateGroups ? 'isolate' : 'none',
    sameSubtrees,
    rootRequiredTraits: traits(spec.rootRequiredTraits, `${field}.root_required_traits`),
    rootForbiddenTraits: traits(spec.rootForbiddenTraits, `${field}.root_forbidden_traits`),
    rebuildPolicy: rebuildPolicies.fromWire(spec.rebuildPolicy, `${field}.rebuild_policy`),
  };
}

/** @throws BerthError `invalid_argument / flavor_and_resources` for a flavor to be filled in where there is something. */
function flavorFromWire({ flavor, resources, extraSpecs }: WireSpec, field: string): RequestSpec['flavor'] {
  if (!flavor) return undefined;
  const version = whole(flavor.version ?? 0, `${field}.flavor.version`);
  if (version === 0 && Object.keys(resources).length + Object.keys(extraSpecs).length > 0) {
    const message = `${field} names a flavor, or has resources and extra specs of its own, not both`;
    throw invalidArgument('flavor_and_resources', message, `${field}.flavor`);
  }
  return { name: requiredName(flavor.name ?? '', `${field}.flavor.name`), version };
}

/** A flavor or an extra spec may be all that says what is taken: whoever reads them (`resolveSpec`) sees whether it is. */
function resourcesFromWire({ flavor, resources, extraSpecs }: WireSpec, field: string): Resources {
  const isAskedElsewhere = flavor || Object.keys(extraSpecs).length > 0;
  return isAskedElsewhere ? amounts(resources, `${field}.resources`) : requiredAmounts(resources, `${field}.resources`);
}

function requestGroupToWire(group: RequestGroup): berth.scheduler.v1.IRequestGroup {
  return {
    ...(group as Mutable<RequestGroup>),
    requiredTraits: listsToWire(group.requiredTraits),
    memberOf: listsToWire(group.memberOf),
  };
}

function requestGroupFromWire(wire: berth.scheduler.v1.IRequestGroup, field: string): RequestGroup {
  const group = wire as WireGroup;
  return {
    suffix: name(group.suffix, `${field}.suffix`),
    resources: amounts(group.resources, `${field}.resources`),
    requiredTraits: listsFromWire(group.requiredTraits, `${field}.required_traits`, traits),
    forbiddenTraits: traits(group.forbiddenTraits, `${field}.forbidden_traits`),
    memberOf: listsFromWire(group.memberOf, `${field}.member_of`, uuids),
    forbiddenAggregates: uuids(group.forbiddenAggregates, `${field}.forbidden_aggregates`),
    inTree: group.inTree === '' ? undefined : uuid(group.inTree, `${field}.in_tree`),
  };
}

/** The search counts on it: suffixes are distinct, subtrees name groups, and a group without resources is in a subtree. */
function checkGroups(groups: readonly RequestGroup[], sameSubtrees: RequestSpec['sameSubtrees'], field: string): void {
  const suffixes = groups.map(({ suffix }) => suffix);
  const named = new Set(sameSubtrees.flat());
  const twice = suffixes.find((suffix, i) => suffixes.indexOf(suffix) !== i);
  if (twice !== undefined) {
    throw invalidArgument('duplicate_suffix', `two request groups are called '${twice}'`, `${field}.request_groups`);
  }
  const unknown = [...named].find((suffix) => !suffixes.includes(suffix));
  if (unknown !== undefined) {
    throw invalidArgument('unknown_value', `there is no request group '${unknown}'`, `${field}.same_subtrees`);
  }
  const bare = groups.findIndex(({ suffix, resources }) => Object.keys(resources).length === 0 && !named.has(suffix));
  if (bare >= 0) throw missing(`${field}.request_groups[${bare}].resources`);
}

function listsToWire(lists: readonly (readonly string[])[]): berth.scheduler.v1.IStringList[] {
  return lists.map((values) => ({ values: values as string[] }));
}

function listsFromWire(
  lists: WireLists,
  field: string,
  check: (values: readonly string[], field: string) => readonly string[],
): readonly (readonly string[])[] {
  return list(lists, field, MAX_NAMES, (one, path) => {
    if (!one.values?.length) throw missing(path);
    return check(one.values, path);
  });
}
