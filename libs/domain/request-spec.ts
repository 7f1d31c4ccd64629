import type { FlavorVersion } from './flavor';
import type { Resources } from './inventory';
import type { NamedGroup } from './server-group';

/**
 * One group of resources that must come from one provider (Placement's granular request group). The suffix names it;
 * the unnumbered group is not one of these but the spec's own `resources` and `requiredTraits`.
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
 * What becomes of an instance whose host is dead, without anybody asking: `never` leaves it `unknown` until the host is back or
 * an operator evacuates it, `evacuate` has it built on another host (Masakari's automatic recovery).
 */
export type RebuildPolicy = (typeof REBUILD_POLICIES)[number];
export const REBUILD_POLICIES = ['never', 'evacuate'] as const;

/**
 * What a client asks for, per instance. It says what is needed and what would be nice, never where: the scheduler's
 * filters and weighers give it its meaning. All lists may be empty.
 */
export interface RequestSpec {
  readonly projectId: string;
  readonly userId: string;
  /**
   * The flavor that `resources` and `extraSpecs` are of; undefined when they are spelled out. Version 0: a conductor is
   * still to fill them in.
   */
  readonly flavor: FlavorVersion | undefined;
  /**
   * What each instance takes, by resource class, each amount ≥ 1; extra specs may change it. With groups and extra specs
   * counted in, an instance takes something.
   */
  readonly resources: Resources;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  /** Nice to have: these only weigh. */
  readonly preferredTraits: readonly string[];
  /** Nice to have in addition to `resources`: each class is claimed where the host has the whole amount, and weighs there. */
  readonly preferredResources: Resources;
  /** All hosts when undefined. */
  readonly availabilityZone: string | undefined;
  /** Host must be in at least one aggregate of each inner list. */
  readonly memberOf: readonly (readonly string[])[];
  readonly forbiddenAggregates: readonly string[];
  /** Nova's: `extra-specs/` says which there are and what they ask. */
  readonly extraSpecs: Readonly<Record<string, string>>;
  /** What the image asks of a host: `hw_architecture`, `img_hv_type`, `hw_vm_mode`. */
  readonly imageProperties: Readonly<Record<string, string>>;
  /** Instance uuids: be on a host of one of these. */
  readonly sameHost: readonly string[];
  /** Instance uuids: be on a host of none of these. */
  readonly differentHost: readonly string[];
  readonly group: NamedGroup | undefined;
  /** Only these hosts, when not empty (`--host`; a retry that excludes uses `ignoreHosts`). */
  readonly forceHosts: readonly string[];
  readonly ignoreHosts: readonly string[];
  /** Granular groups for nested and shared providers; empty for a flat request. */
  readonly requestGroups: readonly RequestGroup[];
  readonly groupPolicy: 'none' | 'isolate';
  /** Suffixes of groups: of the providers that meet the groups of one list, one must be an ancestor of all others. */
  readonly sameSubtrees: readonly (readonly string[])[];
  /** Traits that the host's root provider itself must have, and must not have. */
  readonly rootRequiredTraits: readonly string[];
  readonly rootForbiddenTraits: readonly string[];
  readonly rebuildPolicy: RebuildPolicy;
}

/** A request spec for some resources, with nothing else asked unless given. */
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
    ...rest,
  };
}
