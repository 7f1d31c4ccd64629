import { tooMany } from '#libs/contracts/checks';
import { MAX_NAMES, MAX_RESOURCE_CLASSES } from '#libs/contracts/limits';
import type { NestedProvider } from '#libs/contracts/stats';
import { invalidArgument } from '#libs/domain/errors';
import { type Inventories, type Inventory, MAX_AMOUNT } from '#libs/domain/inventory';
import { isClassOrTraitName } from '#libs/domain/names';
import { isStandardResourceClass, isStandardTrait } from '#libs/domain/standard-names';
import { isNestedProviderName, unorderable } from '#libs/placement/port/nested-provider';

type ReportedProvider = Pick<NestedProvider, 'inventories' | 'traits' | 'externalUsage'>;

/**
 * Checks what a report says of one provider, the root or a nested one.
 *
 * @param at  the path of its fields: '' of the root, else with a dot at its end
 */
export function checkProvider(provider: ReportedProvider, at: string): void {
  checkInventories(provider.inventories, at);
  checkTraits(provider.traits, `${at}traits`);
  checkExternalUsage(provider, at);
}

/** Checks that nested providers make a tree below the root, and each of them. */
export function checkNested(nested: readonly NestedProvider[]): void {
  const seen = new Set<string>();
  for (const [index, provider] of nested.entries()) {
    const at = `nested_providers[${index}]`;
    const { name } = provider;
    if (!isNestedProviderName(name)) {
      const message = `${at}.name must be up to 64 letters, digits and . _ : -, not '${name.slice(0, 64)}'`;
      throw invalidArgument('malformed_name', message, `${at}.name`);
    }
    if (seen.has(name)) throw invalidArgument('duplicate_provider', `${at} is ${name} a second time`, `${at}.name`);
    seen.add(name);
    checkProvider(provider, `${at}.`);
  }
  const lost = unorderable(nested)[0];
  if (lost === undefined) return;
  const field = `nested_providers[${nested.indexOf(lost)}].parent`;
  throw invalidArgument(
    'unknown_parent',
    `${field} must be another nested provider, above ${lost.name}, or empty`,
    field,
  );
}

function checkInventories(inventories: Inventories, at: string): void {
  const entries = Object.entries(inventories);
  if (entries.length > MAX_RESOURCE_CLASSES) throw tooMany(`${at}inventories`, MAX_RESOURCE_CLASSES);
  for (const [resourceClass, inventory] of entries) {
    const field = `${at}inventories.${resourceClass}`;
    requireClass(resourceClass, field);
    checkInventory(inventory, field);
  }
}

function checkInventory(
  { total, reserved, allocationRatio, minUnit, maxUnit, stepSize }: Inventory,
  field: string,
): void {
  amount(total, `${field}.total`);
  amount(reserved, `${field}.reserved`);
  if (reserved > total) {
    throw invalidArgument('reserved_above_total', `${field} reserves ${reserved} of ${total}`, `${field}.reserved`);
  }
  if (!(allocationRatio > 0 && allocationRatio <= MAX_RATIO)) {
    const message = `${field}.allocation_ratio must be above 0 and at most ${MAX_RATIO}, not ${allocationRatio}`;
    throw invalidArgument('bad_ratio', message, `${field}.allocation_ratio`);
  }
  unit(minUnit, `${field}.min_unit`);
  unit(maxUnit, `${field}.max_unit`);
  unit(stepSize, `${field}.step_size`);
  if (minUnit > maxUnit) {
    throw invalidArgument('bad_unit', `${field}.min_unit ${minUnit} is above max_unit ${maxUnit}`, `${field}.min_unit`);
  }
}

function checkTraits(traits: readonly string[], field: string): void {
  if (traits.length > MAX_NAMES) throw tooMany(field, MAX_NAMES);
  for (const [index, trait] of traits.entries()) {
    if (isStandardTrait(trait) || isCustom(trait)) continue;
    const message = `'${trait.slice(0, 64)}' is neither a standard trait nor a CUSTOM_ one`;
    throw invalidArgument('unknown_trait', message, `${field}[${index}]`);
  }
  requireDistinct(traits, 'duplicate_trait', field);
}

function checkExternalUsage({ externalUsage, inventories }: ReportedProvider, at: string): void {
  for (const [resourceClass, used] of Object.entries(externalUsage)) {
    const field = `${at}external_usage.${resourceClass}`;
    const inventory = inventories[resourceClass];
    if (!inventory) throw invalidArgument('unknown_class', `${field} has no inventory in the report`, field);
    amount(used, field);
    if (used <= inventory.total) continue;
    throw invalidArgument('used_above_total', `${field} is ${used}, more than the total of ${inventory.total}`, field);
  }
}

/** The largest allocation ratio that makes sense: ten thousand times what there is. */
const MAX_RATIO = 10_000;

export function requireClass(resourceClass: string, field: string): void {
  if (isStandardResourceClass(resourceClass) || isCustom(resourceClass)) return;
  const message = `'${resourceClass.slice(0, 64)}' is neither a standard resource class nor a CUSTOM_ one`;
  throw invalidArgument('unknown_class', message, field);
}

function isCustom(value: string): boolean {
  return value.startsWith('CUSTOM_') && isClassOrTraitName(value);
}

export function amount(value: number, field: string): void {
  if (value < 0) throw invalidArgument('negative_amount', `${field} must not be negative, it is ${value}`, field);
  if (Number.isSafeInteger(value) && value <= MAX_AMOUNT) return;
  throw invalidArgument('bad_amount', `${field} must be a whole number up to ${MAX_AMOUNT}, not ${value}`, field);
}

function unit(value: number, field: string): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_AMOUNT) return;
  throw invalidArgument('bad_unit', `${field} must be a whole number from 1 to ${MAX_AMOUNT}, not ${value}`, field);
}

export function requireDistinct(values: readonly string[], reason: string, field: string): void {
  if (new Set(values).size < values.length) throw invalidArgument(reason, `${field} says the same twice`, field);
}
