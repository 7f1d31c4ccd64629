import { berth } from '#generated/berth';
import { type Inventory, inventory, MAX_AMOUNT } from '../domain/inventory';
import type { GroupPolicy, NamedGroup, ServerGroup } from '../domain/server-group';
import { enumeration, missing, requiredName, whole } from './checks';

type WireInventory = berth.placement.v1.Inventory;
type WireGroup = berth.placement.v1.ServerGroup;

const { GroupPolicy: WirePolicy } = berth.placement.v1;
const POLICIES = enumeration({
  affinity: WirePolicy.GROUP_POLICY_AFFINITY,
  'anti-affinity': WirePolicy.GROUP_POLICY_ANTI_AFFINITY,
  'soft-affinity': WirePolicy.GROUP_POLICY_SOFT_AFFINITY,
  'soft-anti-affinity': WirePolicy.GROUP_POLICY_SOFT_ANTI_AFFINITY,
});

export function groupToWire({ id, policy, maxPerHost }: NamedGroup): berth.placement.v1.IServerGroup {
  return { id, policy: policyToWire(policy), maxPerHost };
}

/** A group of a request, whose rules the store may have. */
export function namedGroupFromWire(wire: berth.placement.v1.IServerGroup, field: string): NamedGroup {
  if (wire.policy) return groupFromWire(wire, field);
  const { id, maxPerHost } = wire as WireGroup;
  if (maxPerHost !== 0) throw missing(`${field}.policy`);
  return { id: requiredName(id, `${field}.id`), policy: undefined, maxPerHost };
}

export function groupFromWire(wire: berth.placement.v1.IServerGroup, field: string): ServerGroup {
  const { id, policy, maxPerHost } = wire as WireGroup;
  return {
    id: requiredName(id, `${field}.id`),
    policy: POLICIES.fromWire(policy, `${field}.policy`),
    maxPerHost: whole(maxPerHost, `${field}.max_per_host`) || 1,
  };
}

export function policyToWire(policy: GroupPolicy | undefined): berth.placement.v1.GroupPolicy {
  return policy === undefined ? WirePolicy.GROUP_POLICY_UNSPECIFIED : POLICIES.toWire(policy);
}

/** A policy that must be there. */
export const policyFromWire = POLICIES.fromWire;

/**
 * An inventory with the wire's defaults put in: 0 stands for ratio 1, min_unit 1, no max_unit, step_size 1. The amounts
 * are not checked here: the scheduler refuses a wrong one with the name of the field, which the sender needs.
 */
export function inventoryFromWire(wire: berth.placement.v1.IInventory): Inventory {
  const { total, reserved, allocationRatio, minUnit, maxUnit, stepSize } = wire as WireInventory;
  return inventory(total, {
    reserved,
    allocationRatio: allocationRatio || 1,
    minUnit: minUnit || 1,
    maxUnit: maxUnit || MAX_AMOUNT,
    stepSize: stepSize || 1,
  });
}
