import { hostName, list, requiredName, text, tooMany, uuid, uuidOrEmpty, uuids, whole } from '#libs/contracts/checks';
import { type Identity, requireHost } from '#libs/contracts/identity';
import { MAX_NAMES, MAX_RESOURCE_CLASSES } from '#libs/contracts/limits';
import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import { sealedRequest } from '#libs/contracts/selection';
import { invalidArgument } from '#libs/domain/errors';
import { type Inventory, MAX_AMOUNT, type Resources } from '#libs/domain/inventory';
import { isClassOrTraitName, isHostName } from '#libs/domain/names';
import { isStandardResourceClass, isStandardTrait } from '#libs/domain/standard-names';

/**
 * Checks a report field by field, so that nothing of a bad one is ever applied. Names of instances are bounded before
 * (`bound-names.ts`).
 *
 * @throws BerthError `permission_denied / wrong_host` when the host is not the sender's to report for; `invalid_argument` with the
 *   path in `details.field` and one of the reasons malformed_host, malformed_uuid, malformed_name, missing_field, too_long,
 *   too_many, bad_number, unknown_class, unknown_trait, negative_amount, bad_amount, reserved_above_total,
 *   used_above_total, bad_ratio, bad_unit, duplicate_instance, duplicate_trait, duplicate_aggregate.
 */
export function validateStats(stats: UpdateResourceStatsRequest, sender: Identity, maxInstances: number): void {
  if (!isHostName(stats.host)) {
    throw invalidArgument('malformed_host', `'${stats.host.slice(0, 64)}' is no host name`, 'host');
  }
  requireHost(sender, stats.host);
  requiredName(stats.agentRun, 'agent_run');
  whole(stats.sequence, 'sequence');
  whole(stats.epoch, 'epoch');
  whole(stats.position, 'position');
  uuid(stats.providerUuid, 'provider_uuid');
  requiredName(stats.cell, 'cell');
  hostName(stats.serviceHost, 'service_host');
  requireHost(sender, stats.serviceHost);
  checkInventories(stats);
  checkTraits(stats.traits);
  checkCapabilities(stats.capabilities);
  checkExternalUsage(stats);
  count(stats.externalInstances, 'external_instances');
  count(stats.ioOps, 'io_ops');
  checkInstances(stats.instances, maxInstances);
  if (stats.disabled) text(stats.disabled.reason, 'disabled.reason');
  if (stats.aggregates) {
    uuids(stats.aggregates, 'aggregates');
    requireDistinct(stats.aggregates, 'duplicate_aggregate', 'aggregates');
  }
}

function checkInventories({ inventories }: UpdateResourceStatsRequest): void {
  const entries = Object.entries(inventories);
  if (entries.length > MAX_RESOURCE_CLASSES) throw tooMany('inventories', MAX_RESOURCE_CLASSES);
  for (const [resourceClass, inventory] of entries) {
    const field = `inventories.${resourceClass}`;
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

function checkTraits(traits: readonly string[]): void {
  if (traits.length > MAX_NAMES) throw tooMany('traits', MAX_NAMES);
  for (const [index, trait] of traits.entries()) {
    if (isStandardTrait(trait) || isCustom(trait)) continue;
    const message = `'${trait.slice(0, 64)}' is neither a standard trait nor a CUSTOM_ one`;
    throw invalidArgument('unknown_trait', message, `traits[${index}]`);
  }
  requireDistinct(traits, 'duplicate_trait', 'traits');
}

function checkCapabilities(capabilities: UpdateResourceStatsRequest['capabilities']): void {
  const entries = Object.entries(capabilities);
  if (entries.length > MAX_NAMES) throw tooMany('capabilities', MAX_NAMES);
  for (const [key, values] of entries) {
    requiredName(key, 'capabilities');
    list(values, `capabilities.${key}`, MAX_NAMES, requiredName);
  }
}

function checkExternalUsage({ externalUsage, inventories }: UpdateResourceStatsRequest): void {
  for (const [resourceClass, used] of Object.entries(externalUsage)) {
    const field = `external_usage.${resourceClass}`;
    const inventory = inventories[resourceClass];
    if (!inventory) throw invalidArgument('unknown_class', `${field} has no inventory in the report`, field);
    amount(used, field);
    if (used <= inventory.total) continue;
    throw invalidArgument('used_above_total', `${field} is ${used}, more than the total of ${inventory.total}`, field);
  }
}

function checkInstances(instances: readonly RunningInstance[], maxInstances: number): void {
  if (instances.length > maxInstances) throw tooMany('instances', maxInstances);
  const seen = new Set<string>();
  for (const [index, instance] of instances.entries()) {
    const field = `instances[${index}]`;
    uuid(instance.instanceUuid, `${field}.instance_uuid`);
    if (seen.has(instance.instanceUuid)) {
      const message = `${field} is instance ${instance.instanceUuid} a second time`;
      throw invalidArgument('duplicate_instance', message, `${field}.instance_uuid`);
    }
    seen.add(instance.instanceUuid);
    uuidOrEmpty(instance.requestId, `${field}.request_id`);
    checkHeld(instance.resources, `${field}.resources`);
    whole(instance.claimToken, `${field}.claim_token`);
    sealedRequest(instance.allocationRequest, `${field}.allocation_request`);
  }
}

function checkHeld(resources: Resources, field: string): void {
  const entries = Object.entries(resources);
  if (entries.length > MAX_RESOURCE_CLASSES) throw tooMany(field, MAX_RESOURCE_CLASSES);
  for (const [resourceClass, held] of entries) {
    requireClass(resourceClass, `${field}.${resourceClass}`);
    amount(held, `${field}.${resourceClass}`);
  }
}

/** The largest allocation ratio that makes sense: ten thousand times what there is. */
const MAX_RATIO = 10_000;

function requireClass(resourceClass: string, field: string): void {
  if (isStandardResourceClass(resourceClass) || isCustom(resourceClass)) return;
  const message = `'${resourceClass.slice(0, 64)}' is neither a standard resource class nor a CUSTOM_ one`;
  throw invalidArgument('unknown_class', message, field);
}

function isCustom(value: string): boolean {
  return value.startsWith('CUSTOM_') && isClassOrTraitName(value);
}

function amount(value: number, field: string): void {
  if (value < 0) throw invalidArgument('negative_amount', `${field} must not be negative, it is ${value}`, field);
  if (Number.isSafeInteger(value) && value <= MAX_AMOUNT) return;
  throw invalidArgument('bad_amount', `${field} must be a whole number up to ${MAX_AMOUNT}, not ${value}`, field);
}

function unit(value: number, field: string): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_AMOUNT) return;
  throw invalidArgument('bad_unit', `${field} must be a whole number from 1 to ${MAX_AMOUNT}, not ${value}`, field);
}

function count(value: number, field: string): void {
  amount(whole(value, field), field);
}

function requireDistinct(values: readonly string[], reason: string, field: string): void {
  if (new Set(values).size < values.length) throw invalidArgument(reason, `${field} says the same twice`, field);
}
