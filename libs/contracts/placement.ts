import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { type Inventory, inventory, MAX_AMOUNT } from '../domain/inventory';
import { type GroupRules, MAX_LEVELS, type NamedGroup, type Within } from '../domain/server-group';
import { missing, requiredName, requiredNumber, whole } from './checks';
import { NO_RULES, ruled } from './field-rules';
import { count, enumBy, flag, optional, orUndefined, requiredList } from './fields';
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

const within = message(
  wire.GroupWithin,
  { levels: requiredList(requiredName, MAX_LEVELS), required: count },
  { check: checkLevels },
);

function checkLevels({ levels, required }: Within, path: string): void {
  if (new Set(levels).size < levels.length) {
    throw invalidArgument('duplicate_level', `${path}.levels names the same level twice`, `${path}.levels`);
  }
  if (required <= levels.length) return;
  const problem = `${path}.required may be at most ${levels.length}, the number of levels`;
  throw invalidArgument('too_many', problem, `${path}.required`);
}

/** The policy of a group, and the domains over which its members spread. */
export const groupRules = {
  policy,
  maxPerHost: ruled(NO_RULES, (value: number, path: string) => whole(value, path) || 1),
  spread: optional(spread),
  within: optional(within),
};

/** @throws BerthError `conflicting_rules` for members that are to be on one host and to spread, or to spread and to stay within. */
export function checkGroupRules(rules: GroupRules, path: string): void {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  if (rules.spread && rules.within) {
    throw invalidArgument(
      'conflicting_rules',
      `${at('within')} goes with no spread: members part or stay`,
      at('within'),
    );
  }
  if (rules.policy === 'affinity') checkOneHost(rules, at);
}

function checkOneHost({ spread: over, within: inside }: GroupRules, at: (name: string) => string): void {
  if (!over && !inside) return;
  const name = at(over ? 'spread' : 'within');
  throw invalidArgument('conflicting_rules', `${name} goes with no affinity: that keeps members on one host`, name);
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
      maxPerHost: ruled(NO_RULES, (value: number, path: string, group: { readonly policy: number }) =>
        group.policy === NO_POLICY ? value : groupRules.maxPerHost(value, path),
      ),
      spread: groupRules.spread,
      within: groupRules.within,
    },
    {
      check(group, path) {
        if (group.policy !== undefined) checkGroupRules(group as GroupRules, path);
        else if (group.maxPerHost !== 0 || group.spread || group.within) throw missing(`${path}.policy`);
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
    // NaN is falsy, too, and stands for nothing.
    allocationRatio: allocationRatio === 0 ? 1 : allocationRatio,
    minUnit: minUnit || 1,
    maxUnit: maxUnit || MAX_AMOUNT,
    stepSize: stepSize || 1,
  });
}
