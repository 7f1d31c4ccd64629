import type { HealAllocationRequest, HealAllocationResponse } from '#libs/contracts/nodes';
import { nodeCodec } from '#libs/contracts/nodes';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { Instance } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import { fillInFlavor } from '#libs/fleet-settings/fill-in-flavor';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Conductor } from '../conductor';
import { readRecord, writeRecord } from '../lifecycle';
import { openRequest } from '../steps/claims';

/**
 * Gives an instance that has a node by processors, memory and disk the node's class instead: what it holds and what its record asks
 * for. It runs on, and its host hears nothing of it. (`nova-manage placement heal_allocations`, and what Nova's Ironic driver did with
 * embedded flavors in Pike.)
 *
 * The claim is exchanged in one commit, guarded by its token: at no moment has it nothing, and nobody else any of the node. A record
 * that changes meanwhile, or a conductor that dies here, leaves the record behind its claim; asked again, it catches up. What the record
 * keeps sealed is for the claim that it has now, so that it can be claimed again, or given back after a move.
 *
 * @throws BerthError `not_found / no_such_instance`; `failed_precondition / instance_state` of one
 *   that neither runs nor is stopped, or is on its way; `/ no_node` of one that has no node with a class; `/ flavor_without_class` when
 *   its flavor asks for anything but that; `aborted / instance_changed`, `/ claim_changed`.
 */
export async function healAllocation(
  c: Conductor,
  { instanceUuid }: HealAllocationRequest,
): Promise<HealAllocationResponse> {
  const record = await readRecord(c, instanceUuid);
  if (record === undefined)
    throw new BerthError('not_found', 'no_such_instance', `there is no instance ${instanceUuid}`);
  const { uuid, host = '', state, migration } = record;
  if ((state !== 'active' && state !== 'stopped') || migration) {
    throw new BerthError(
      'failed_precondition',
      'instance_state',
      `instance ${uuid} is ${state}: heal it when it is at rest`,
    );
  }
  const { providerUuid, resourceClass } = await nodeOf(c, uuid, host);
  const wanted = { [resourceClass]: 1 };
  const requestSpec = await specFor(c, record, wanted);
  const [consumer] = await c.placement.consumers([uuid]);
  if (!isClaimOf(record, consumer))
    throw changed('claim_changed', `instance ${uuid} holds nothing: an audit settles that first`);
  const before = openRequest(c, record.allocationRequest);
  const isClaimed = isSame(consumer.allocations[providerUuid], wanted);
  // An audit may have given a record that is behind its claim the claim's token, and nothing more.
  const isRecorded = isSame(before?.allocations[providerUuid], wanted) && record.claimToken === consumer.claimToken;
  if (isClaimed && isRecorded) return { resourceClass, changed: false };
  const next = exchanged(record, before, { host, allocations: { [providerUuid]: wanted }, mappings: {} });
  const claimToken = isClaimed ? consumer.claimToken : await exchange(c, record, consumer, next);
  const change = { claimToken, requestSpec, allocationRequest: c.seal(next)(next) };
  const written = await writeRecord(c, record, change);
  if (written.kind !== 'written') throw changed('instance_changed', `instance ${uuid} changed meanwhile: ask again`);
  c.log.info(
    { event: 'allocation_healed', instance_uuid: uuid, host, resource_class: resourceClass },
    'allocation changed to the class of the node',
  );
  return { resourceClass, changed: true };
}

async function nodeOf(c: Conductor, uuid: string, host: string) {
  const [row] = host === '' ? [] : await c.placement.hosts([host]);
  const [content] = host === '' ? [] : await c.placement.nodes([host]);
  const { resourceClass = '' } = content === undefined ? {} : nodeCodec.decode(Buffer.from(content, 'base64'));
  if (row && resourceClass !== '') return { providerUuid: row.providerUuid, resourceClass };
  const message = `instance ${uuid} is on ${host === '' ? 'no host' : host}, which is no node with a class`;
  throw new BerthError('failed_precondition', 'no_node', message);
}

/** The record's spec from now on: its flavor as that is now, or the class alone. */
async function specFor(c: Conductor, record: Instance, wanted: Resources) {
  const spec = requestSpecCodec.decode(record.requestSpec);
  const bare = requestSpecCodec.encode({
    ...spec,
    flavor: undefined,
    resources: wanted,
    extraSpecs: {},
    preferredResources: {},
  });
  if (!spec.flavor) return bare;
  const filled = await fillInFlavor(c, bare, spec.flavor.name);
  const { resources, requestGroups } = resolveSpec(requestSpecCodec.decode(filled), 'request_spec');
  if (isSame(resources, wanted) && requestGroups.length === 0) return filled;
  const message = `flavor ${spec.flavor.name} asks for ${JSON.stringify(resources)}, not for ${JSON.stringify(wanted)}: change it first`;
  throw new BerthError('failed_precondition', 'flavor_without_class', message);
}

/** As what was sealed for it says, with its group if it has one, but for what it holds. */
function exchanged(
  { uuid, projectId, userId }: Instance,
  before: AllocationRequest | undefined,
  place: Pick<AllocationRequest, 'host' | 'allocations' | 'mappings'>,
): AllocationRequest {
  return { ...(before ?? { consumerUuid: uuid, projectId, userId, group: undefined }), ...place };
}

/** @returns the token of the claim that takes the place of the present one */
async function exchange(c: Conductor, record: Instance, consumer: Consumer, next: AllocationRequest): Promise<number> {
  // A record without a token is older than claim tokens.
  const claimToken = record.claimToken ?? consumer.claimToken;
  const write = claimWrite(next, { kind: 'claim', claimToken });
  const result = await c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), consumers: [write] });
  if (result.kind === 'committed') return result.claimToken;
  throw changed('claim_changed', `the claim of instance ${record.uuid} could not be exchanged: ${result.kind}`);
}

function isSame(a: Resources | undefined, b: Resources): boolean {
  const names = Object.keys(a ?? {});
  return names.length === Object.keys(b).length && names.every((name) => a?.[name] === b[name]);
}

function changed(reason: string, message: string): BerthError {
  return new BerthError('aborted', reason, message);
}
