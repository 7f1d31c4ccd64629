import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { type Inventory, inventory, MAX_AMOUNT } from '../domain/inventory';
import type { GroupPolicy, GroupRules, NamedGroup, ServerGroup, Spread } from '../domain/server-group';
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

export function groupToWire({ id, policy, maxPerHost, spread }: NamedGroup): berth.placement.v1.IServerGroup {
  return { id, policy: policyToWire(policy), maxPerHost, spread: spreadToWire(spread) };
}

/** A group of a request, whose rules the store may have. */
export function namedGroupFromWire(wire: berth.placement.v1.IServerGroup, field: string): NamedGroup {
  if (wire.policy) return groupFromWire(wire, field);
  const { id, maxPerHost, spread } = wire as WireGroup;
  if (maxPerHost !== 0 || spread) throw missing(`${field}.policy`);
  return { id: requiredName(id, `${field}.id`), policy: undefined, maxPerHost };
}

export function groupFromWire(wire: berth.placement.v1.IServerGroup, field: string): ServerGroup {
  const group = wire as WireGroup;
  return { id: requiredName(group.id, `${field}.id`), ...rulesFromWire(group, `${field}.`) };
}

/** What a group's members keep to: a policy, which must be there, and what its members spread over. */
export function rulesFromWire(
  wire: Pick<WireGroup, 'policy' | 'maxPerHost'> & {
    readonly spread?: berth.placement.v1.IGroupSpread | null | undefined;
  },
  prefix: string,
): GroupRules {
  const policy = POLICIES.fromWire(wire.policy, `${prefix}policy`);
  const rules = { policy, maxPerHost: whole(wire.maxPerHost, `${prefix}max_per_host`) || 1 };
  if (!wire.spread) return rules;
  const { by, maxSkew, countUnavailable } = wire.spread as berth.placement.v1.GroupSpread;
  if (maxSkew === 0) throw missing(`${prefix}spread.max_skew`);
  if (policy === 'affinity') {
    const message = `${prefix}spread goes with no affinity: that keeps members on one host`;
    throw invalidArgument('conflicting_rules', message, `${prefix}spread`);
  }
  const even = { by: requiredName(by, `${prefix}spread.by`), maxSkew };
  return { ...rules, spread: countUnavailable ? { ...even, countUnavailable } : even };
}

/** Null for a group that does not spread. */
export function spreadToWire(spread: Spread | undefined): berth.placement.v1.IGroupSpread | null {
  if (!spread) return null;
  const { by, maxSkew, countUnavailable = false } = spread;
  return { by, maxSkew, countUnavailable };
}

export function policyToWire(policy: GroupPolicy | undefined): berth.placement.v1.GroupPolicy {
  return policy === undefined ? WirePolicy.GROUP_POLICY_UNSPECIFIED : POLICIES.toWire(policy);
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
