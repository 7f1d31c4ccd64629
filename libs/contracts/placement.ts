import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { type Inventory, inventory, MAX_AMOUNT } from '../domain/inventory';
import type { GroupRules, NamedGroup } from '../domain/server-group';
import { missing, requiredName, requiredNumber, whole } from './checks';
import { enumBy, flag, optional, orUndefined } from './fields';
import { mapped, message } from './message';

const wire = berth.placement.v1;
const { GroupPolicy } = wire;
const NO_POLICY: number = GroupPolicy.GROUP_POLICY_UNSPECIFIED;

const policy = enumBy({
  affinity: GroupPolicy.GROUP_POLICY_AFFINITY,
  'anti-affinity': GroupPolicy.GROUP_POLICY_ANTI_AFFINITY,
  'soft-affinity': GroupPolicy.GROUP_POLICY_SOFT_AFFINITY,
  'soft-anti-affinity': GroupPolicy.GROUP_POLICY_SOFT_ANTI_AFFINITY,
});

const spread = message(wire.GroupSpread, {
  by: requiredName,
  maxSkew: requiredNumber,
  countUnavailable: optional(flag),
});

/** The policy of a group, and the domains over which its members spread. */
export const groupRules = {
  policy,
  maxPerHost: (value: number, path: string) => whole(value, path) || 1,
  spread: optional(spread),
};

/** @throws BerthError `conflicting_rules` for members that are to be on one host and to spread. */
export function checkGroupRules(rules: GroupRules, path: string): void {
  if (!rules.spread || rules.policy !== 'affinity') return;
  const at = path === '' ? 'spread' : `${path}.spread`;
  throw invalidArgument('conflicting_rules', `${at} goes with no affinity: that keeps members on one host`, at);
}

/** A group with its rules. */
export const serverGroup = message(wire.ServerGroup, { id: requiredName, ...groupRules }, { check: checkGroupRules });

/** A group of a request, whose rules the store may have: then it has no policy. */
export const namedGroup = mapped(
  message(
    wire.ServerGroup,
    {
      id: requiredName,
      policy: orUndefined(policy),
      maxPerHost: (value: number, path: string, group: { readonly policy: number }) =>
        group.policy === NO_POLICY ? value : groupRules.maxPerHost(value, path),
      spread: groupRules.spread,
    },
    {
      check(group, path) {
        if (group.policy !== undefined) checkGroupRules(group as GroupRules, path);
        else if (group.maxPerHost !== 0 || group.spread) throw missing(`${path}.policy`);
      },
    },
  ),
  (group) => group as NamedGroup,
  (group: NamedGroup) => group,
);

/**
 * An inventory with the wire's defaults put in: 0 stands for ratio 1, min_unit 1, no max_unit, step_size 1. The amounts
 * are not checked here: the scheduler refuses a wrong one with the name of the field, which the sender needs.
 */
export function inventoryFromWire(value: berth.placement.v1.IInventory): Inventory {
  const { total, reserved, allocationRatio, minUnit, maxUnit, stepSize } = value as berth.placement.v1.Inventory;
  return inventory(total, {
    reserved,
    allocationRatio: allocationRatio || 1,
    minUnit: minUnit || 1,
    maxUnit: maxUnit || MAX_AMOUNT,
    stepSize: stepSize || 1,
  });
}
