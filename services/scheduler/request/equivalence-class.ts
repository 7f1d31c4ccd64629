import type { EncodedRequestSpec } from '#libs/contracts/codec';
import { internedSpecs } from '#libs/contracts/interned-specs';
import { requireSelectors } from '#libs/devices/require-selectors';
import { type ResolvedSpec, resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { RequestGroup } from '#libs/domain/request-spec';
import { getOrMake, lru } from '#libs/runtime/lru';

/**
 * An equivalence class of requests: what is asked of a host, whoever asks. All requests of a class find the same hosts
 * feasible, with the same weights, so hosts are filtered and ranked once for the class and not for each request (Borg,
 * section 3.4; kube-scheduler's equivalence cache). What names other instances, groups or hosts is not in it: that
 * becomes constraints of the single request. Immutable.
 */
export interface EquivalenceClass extends Omit<ResolvedSpec, OfOneRequest> {
  /** The same for equal classes, whatever the order in which a client lists things. */
  readonly key: string;
  /** The request's project, if aggregates are for it (`forTenant`): to all others the same hosts are open. */
  readonly tenant: string | undefined;
  /** Instances that must fit on one host together: those of an affinity group's request. 1 for all others. */
  readonly batchSize: number;
}

type OfOneRequest =
  | 'projectId'
  | 'userId'
  | 'flavor'
  | 'sameHost'
  | 'differentHost'
  | 'group'
  | 'forceHosts'
  | 'ignoreHosts'
  | 'rebuildPolicy'
  | 'reservation';

/** A request spec, its extra specs resolved, and its equivalence class, for a single instance. Immutable. */
export interface ClassifiedSpec {
  readonly spec: ResolvedSpec;
  readonly equivalenceClass: EquivalenceClass;
}

const MAX_KEPT_CLASSES = 1_000;

/**
 * Specs and their classes: one object for equal bytes, one class for equal keys. It throws BerthError
 * `invalid_argument` for a spec that is malformed or has extra specs or expressions that are not understood, with the path of the field in
 * `details.field`.
 */
export function specClassifier(): (encoded: EncodedRequestSpec) => ClassifiedSpec {
  const kept = lru<string, EquivalenceClass>(MAX_KEPT_CLASSES);
  return internedSpecs((asked) => {
    const spec = resolveSpec(asked, 'request_spec');
    requireSelectors(spec, 'request_spec', asked.deviceRequests.length);
    const made = equivalenceClassOf(spec);
    return { spec, equivalenceClass: getOrMake(kept, made.key, () => made) };
  });
}

/** The class of requests for a single instance of a spec. */
export function equivalenceClassOf(spec: ResolvedSpec): EquivalenceClass {
  const content = {
    resources: sortedKeys(spec.resources),
    requiredTraits: sorted(spec.requiredTraits),
    forbiddenTraits: sorted(spec.forbiddenTraits),
    preferredTraits: sorted(spec.preferredTraits),
    preferredResources: sortedKeys(spec.preferredResources),
    availabilityZone: spec.availabilityZone,
    memberOf: spec.memberOf.map(sorted),
    forbiddenAggregates: sorted(spec.forbiddenAggregates),
    extraSpecs: sortedKeys(spec.extraSpecs),
    imageProperties: sortedKeys(spec.imageProperties),
    requestGroups: spec.requestGroups.map(sortedGroup),
    groupPolicy: spec.groupPolicy,
    sameSubtrees: spec.sameSubtrees.map(sorted),
    rootRequiredTraits: sorted(spec.rootRequiredTraits),
    rootForbiddenTraits: sorted(spec.rootForbiddenTraits),
    origins: spec.origins,
    deviceRequests: spec.deviceRequests,
    deviceConstraints: spec.deviceConstraints,
    ...(spec.deviceAffinity && { deviceAffinity: spec.deviceAffinity }),
  };
  return { key: JSON.stringify(content), ...content, tenant: undefined, batchSize: 1 };
}

/** The class of requests of a project that aggregates name as one that they are for. */
export function forTenant(anybodys: EquivalenceClass, tenant: string): EquivalenceClass {
  return { ...anybodys, key: `${JSON.stringify(tenant)} asks ${anybodys.key}`, tenant };
}

/** The class of requests for so many instances that must fit on one host together. */
export function forBatch(single: EquivalenceClass, batchSize: number): EquivalenceClass {
  return batchSize === single.batchSize ? single : { ...single, key: `${batchSize} of ${single.key}`, batchSize };
}

/** The class of the same requests without what they prefer of resources. */
export function withoutPreferred(equivalenceClass: EquivalenceClass): EquivalenceClass {
  return { ...equivalenceClass, key: `required of ${equivalenceClass.key}`, preferredResources: {} };
}

function sorted(names: readonly string[]): readonly string[] {
  return names.length > 1 ? [...new Set(names)].sort() : names;
}

function sortedKeys<T>(map: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  const keys = Object.keys(map);
  if (keys.every((key, i) => i === 0 || (keys[i - 1] as string) < key)) return map;
  return Object.fromEntries(keys.sort().map((key) => [key, map[key] as T]));
}

function sortedGroup(group: RequestGroup): RequestGroup {
  return {
    suffix: group.suffix,
    resources: sortedKeys(group.resources),
    requiredTraits: group.requiredTraits.map(sorted),
    forbiddenTraits: sorted(group.forbiddenTraits),
    memberOf: group.memberOf.map(sorted),
    forbiddenAggregates: sorted(group.forbiddenAggregates),
    inTree: group.inTree,
  };
}
