import { berth } from '#generated/berth';
import { type Inventory, inventory, MAX_AMOUNT } from '../domain/inventory';
import type { ServerGroup } from '../domain/server-group';
import { enumeration, requiredName, whole } from './checks';

type WireInventory = berth.placement.v1.Inventory;
type WireGroup = berth.placement.v1.ServerGroup;

const { GroupPolicy } = berth.placement.v1;
const POLICIES = enumeration({
  affinity: GroupPolicy.GROUP_POLICY_AFFINITY,
  'anti-affinity': GroupPolicy.GROUP_POLICY_ANTI_AFFINITY,
  'soft-affinity': GroupPolicy.GROUP_POLICY_SOFT_AFFINITY,
  'soft-anti-affinity': GroupPolicy.GROUP_POLICY_SOFT_ANTI_AFFINITY,
});

export function groupToWire(group: ServerGroup): berth.placement.v1.IServerGroup {
  return { id: group.id, policy: POLICIES.toWire(group.policy), maxPerHost: group.maxPerHost };
}

export function groupFromWire(wire: berth.placement.v1.IServerGroup, field: string): ServerGroup {
  const { id, policy, maxPerHost } = wire as WireGroup;
  return {
    id: requiredName(id, `${field}.id`),
    policy: POLICIES.fromWire(policy, `${field}.policy`),
    maxPerHost: whole(maxPerHost, `${field}.max_per_host`) || 1,
  };
}

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
