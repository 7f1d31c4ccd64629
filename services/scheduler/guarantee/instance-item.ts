import { groupKey } from '#libs/domain/server-group';
import type { CompleteSpec } from '../decision/complete-request';
import { type EquivalenceClass, withoutPreferred } from '../request/equivalence-class';
import type { Item } from './witness';

/** An instance as its next host must take it. */
export interface GuaranteedInstance {
  readonly uuid: string;
  /** Without the hosts that its build named: they bind no evacuation. */
  readonly spec: CompleteSpec;
  /** Without what it prefers. */
  readonly equivalenceClass: EquivalenceClass;
  readonly priority: number;
}

/** Instances that a loss takes from a host as one: the members of an affinity group there, or one by itself. */
export interface InstanceItem extends Item {
  readonly hostIndex: number;
  readonly instances: readonly GuaranteedInstance[];
  /** It names others: not every free host is open to it. */
  readonly isBound: boolean;
}

/** The instance of a spec as it would be evacuated. */
export function guaranteedInstance(
  uuid: string,
  { spec, equivalenceClass }: { readonly spec: CompleteSpec; readonly equivalenceClass: EquivalenceClass },
  priority = 0,
): GuaranteedInstance {
  const hasPreferred = Object.keys(equivalenceClass.preferredResources).length > 0;
  return {
    uuid,
    priority,
    spec: spec.forceHosts.length === 0 ? spec : { ...spec, forceHosts: [] },
    equivalenceClass: hasPreferred ? withoutPreferred(equivalenceClass) : equivalenceClass,
  };
}

/** The key under which members of an affinity group on a host are one item; undefined for all others. */
export function jointKeyOf({ spec: { group, projectId } }: GuaranteedInstance, hostIndex: number): string | undefined {
  return group?.policy === 'affinity' ? `${groupKey(projectId, group.id)} on ${hostIndex}` : undefined;
}

/** One item of some instances that go together. */
export function itemOf(key: string, instances: readonly GuaranteedInstance[], hostIndex: number): InstanceItem {
  const [{ spec, equivalenceClass }] = instances as [GuaranteedInstance];
  const group = spec.group && groupKey(spec.projectId, spec.group.id);
  const named = spec.sameHost.length + spec.differentHost.length + spec.ignoreHosts.length;
  const isBound = group !== undefined || named > 0;
  return { key, group, kind: isBound ? undefined : equivalenceClass.key, hostIndex, instances, isBound };
}
