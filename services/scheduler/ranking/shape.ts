import type { Resources } from '#libs/domain/inventory';
import type { RequestGroup, RequestSpec } from '#libs/domain/request-spec';

/**
 * The part of a request that many requests have in common: what is asked of a host, whoever asks. Hosts are ranked per
 * shape. What is personal (other instances, groups, named hosts) is not in it and is looked at while walking the ranks.
 */
export interface Shape {
  /** The same for equal shapes, whatever the order in which a client lists things. */
  readonly key: string;
  readonly resources: Resources;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  readonly preferredTraits: readonly string[];
  readonly preferredResources: Resources;
  readonly availabilityZone: string | undefined;
  readonly memberOf: readonly (readonly string[])[];
  readonly forbiddenAggregates: readonly string[];
  readonly extraSpecs: Readonly<Record<string, string>>;
  readonly imageProperties: Readonly<Record<string, string>>;
  readonly requestGroups: readonly RequestGroup[];
  readonly groupPolicy: RequestSpec['groupPolicy'];
  readonly sameSubtrees: RequestSpec['sameSubtrees'];
  readonly rootRequiredTraits: readonly string[];
  readonly rootForbiddenTraits: readonly string[];
  /** Instances that must find room on one host together: those of an affinity group's batch. 1 for all others. */
  readonly together: number;
}

/** Shapes as they were last made: requests for one flavor bring the same spec. */
const shapes = new WeakMap<RequestSpec, Shape>();

export function shapeOf(spec: RequestSpec, together: number): Shape {
  const known = shapes.get(spec);
  if (known?.together === together) return known;
  const shape = newShape(spec, together);
  shapes.set(spec, shape);
  return shape;
}

function newShape(spec: RequestSpec, together: number): Shape {
  const shape: { -readonly [K in keyof Shape]: Shape[K] } = {
    key: '',
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
    together,
  };
  shape.key = JSON.stringify(shape);
  return shape;
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
