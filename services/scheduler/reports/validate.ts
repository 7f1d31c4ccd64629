import {
  requiredName,
  requiredServiceHost,
  text,
  tooMany,
  uuid,
  uuidOrEmpty,
  uuids,
  whole,
} from '#libs/contracts/checks';
import { list } from '#libs/contracts/fields';
import { type Identity, isPoolAgent, requireHost, requireServiceHost } from '#libs/contracts/identity';
import { MAX_NAMES, MAX_RESOURCE_CLASSES } from '#libs/contracts/limits';
import { sealedRequest } from '#libs/contracts/selection';
import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { invalidArgument } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { isHostName } from '#libs/domain/names';
import { checkDevices } from './validation/validate-device';
import { amount, checkNested, checkProvider, requireClass, requireDistinct } from './validation/validate-provider';

/**
 * Checks a report field by field, so that nothing of a bad one is ever applied. Names of instances are bounded before
 * (`bound-names.ts`).
 *
 * @throws BerthError `permission_denied / wrong_host` when the host is not the sender's to report for; `invalid_argument` with the
 *   path in `details.field` and one of the reasons malformed_host, malformed_uuid, malformed_name, missing_field, too_long,
 *   too_many, bad_number, unknown_class, unknown_trait, negative_amount, bad_amount, reserved_above_total,
 *   used_above_total, bad_ratio, bad_unit, duplicate_instance, duplicate_trait, duplicate_aggregate, duplicate_provider,
 *   unknown_parent, device_inventories, duplicate_capacity.
 */
export function validateStats(stats: UpdateResourceStatsRequest, sender: Identity, maxInstances: number): void {
  if (!isHostName(stats.host)) {
    throw invalidArgument('malformed_host', `'${stats.host.slice(0, 64)}' is no host name`, 'host');
  }
  // Which of a pool's agents may report for a node the store says (`take-reports.ts`).
  if (!isPoolAgent(sender)) requireHost(sender, stats.host);
  requiredName(stats.agentRun, 'agent_run');
  whole(stats.sequence, 'sequence');
  whole(stats.epoch, 'epoch');
  whole(stats.position, 'position');
  uuid(stats.providerUuid, 'provider_uuid');
  requiredName(stats.cell, 'cell');
  requiredServiceHost(stats.serviceHost, 'service_host');
  requireServiceHost(sender, stats.serviceHost);
  checkProvider(stats, '');
  checkNested(stats.nestedProviders);
  checkDevices(stats);
  checkCapabilities(stats.capabilities);
  count(stats.externalInstances, 'external_instances');
  count(stats.ioOps, 'io_ops');
  checkInstances(stats.instances, maxInstances);
  if (stats.disabled) text(stats.disabled.reason, 'disabled.reason');
  if (stats.aggregates) {
    uuids(stats.aggregates, 'aggregates');
    requireDistinct(stats.aggregates, 'duplicate_aggregate', 'aggregates');
  }
}

const capabilityValues = list(requiredName, MAX_NAMES);

function checkCapabilities(capabilities: UpdateResourceStatsRequest['capabilities']): void {
  const entries = Object.entries(capabilities);
  if (entries.length > MAX_NAMES) throw tooMany('capabilities', MAX_NAMES);
  for (const [key, values] of entries) {
    requiredName(key, 'capabilities');
    capabilityValues.fromWire(values, `capabilities.${key}`, undefined);
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

function count(value: number, field: string): void {
  amount(whole(value, field), field);
}
