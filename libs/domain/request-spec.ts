import type { DevicesAsked } from './devices/device-request';
import type { FlavorVersion } from './flavor';
import type { Resources } from './inventory';
import type { NamedGroup } from './server-group';

/**
 * A group of resources that one provider must supply (Placement's granular request group). The suffix names it; the
 * unnumbered group is the spec's own `resources` and `requiredTraits`.
 */
export interface RequestGroup {
  readonly suffix: string;
  readonly resources: Resources;
  /** Each inner list is any-of; the outer list is all-of. */
  readonly requiredTraits: readonly (readonly string[])[];
  readonly forbiddenTraits: readonly string[];
  /** Each inner list is any-of; the outer list is all-of. */
  readonly memberOf: readonly (readonly string[])[];
  readonly forbiddenAggregates: readonly string[];
  readonly inTree: string | undefined;
}

/**
 * The policy for an instance whose host is dead: `never` leaves it `unknown` until the host is back or an operator
 * evacuates it, `evacuate` builds it on another host (Masakari's automatic recovery).
 */
export type RebuildPolicy = (typeof REBUILD_POLICIES)[number];
export const REBUILD_POLICIES = ['never', 'evacuate'] as const;

/**
 * A client's request, per instance. It states requirements and preferences, never places; the scheduler's filters and
 * weighers give them their meaning. All lists may be empty.
 */
export interface RequestSpec extends DevicesAsked {
  readonly projectId: string;
  readonly userId: string;
  /**
   * The flavor that `resources` and `extraSpecs` come from; undefined when they were given directly. Version 0: a
   * conductor has yet to fill them in.
   */
  readonly flavor: FlavorVersion | undefined;
  /**
   * The amounts per instance, by resource class, each ≥ 1; extra specs may change them. With groups and extra specs
   * included, at least one amount remains.
   */
  readonly resources: Resources;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  /** Preferences: they only weigh. */
  readonly preferredTraits: readonly string[];
  /** Preferences beyond `resources`: each class is claimed where the host has the whole amount, and weighs there. */
  readonly preferredResources: Resources;
  /** Undefined for all hosts. */
  readonly availabilityZone: string | undefined;
  /** The host must be in at least one aggregate of each inner list. */
  readonly memberOf: readonly (readonly string[])[];
  readonly forbiddenAggregates: readonly string[];
  /** Nova's extra specs; `extra-specs/` lists the known ones and their meaning. */
  readonly extraSpecs: Readonly<Record<string, string>>;
  /** The image's requirements on a host: `hw_architecture`, `img_hv_type`, `hw_vm_mode`. */
  readonly imageProperties: Readonly<Record<string, string>>;
  /** Instance uuids: the host must have one of these. */
  readonly sameHost: readonly string[];
  /** Instance uuids: the host must have none of these. */
  readonly differentHost: readonly string[];
  readonly group: NamedGroup | undefined;
  /** When not empty, only these hosts (`--host`; a retry that excludes hosts uses `ignoreHosts`). */
  readonly forceHosts: readonly string[];
  readonly ignoreHosts: readonly string[];
  /** Granular groups for nested and shared providers; empty for a flat request. */
  readonly requestGroups: readonly RequestGroup[];
  readonly groupPolicy: 'none' | 'isolate';
  /** Lists of group suffixes: among the providers of one list's groups, one must be an ancestor of all others. */
  readonly sameSubtrees: readonly (readonly string[])[];
  /** Traits that the host's root provider itself must have, and must not have. */
  readonly rootRequiredTraits: readonly string[];
  readonly rootForbiddenTraits: readonly string[];
  readonly rebuildPolicy: RebuildPolicy;
  /** A reservation of its project: only its capacity, while its window is open. Undefined: any but what is reserved. */
  readonly reservation?: string | undefined;
}

/** A request spec for some resources; all else defaults to no requirement. */
export function requestSpec(
  resources: Resources,
  rest: Partial<RequestSpec> & Pick<RequestSpec, 'projectId' | 'userId'>,
): RequestSpec {
  return {
    flavor: undefined,
    resources,
    requiredTraits: [],
    forbiddenTraits: [],
    preferredTraits: [],
    preferredResources: {},
    availabilityZone: undefined,
    memberOf: [],
    forbiddenAggregates: [],
    extraSpecs: {},
    imageProperties: {},
    sameHost: [],
    differentHost: [],
    group: undefined,
    forceHosts: [],
    ignoreHosts: [],
    requestGroups: [],
    groupPolicy: 'none',
    sameSubtrees: [],
    rootRequiredTraits: [],
    rootForbiddenTraits: [],
    rebuildPolicy: 'never',
    deviceRequests: [],
    deviceConstraints: [],
    ...rest,
  };
}
