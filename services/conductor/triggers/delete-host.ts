import type { DeleteHostRequest, DeleteHostResponse } from '#libs/contracts/hosts';
import type { Consumer } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import { RESERVATION_CONSUMER } from '#libs/domain/queueing/place-lease';
import { counted } from '#libs/runtime/counted';
import type { Conductor } from '../conductor';
import { declareDead, isFenced, releaseFence } from '../steps/fence-host';
import { destroyBeforeDeletion } from './forget-ended';

/** So many instances are named in a refusal. */
const NAMED = 3;
/** Records that are read at once. */
const PAGE = 1_000;

/**
 * Deletes a host that is dead and empty: its provider tree, its row, and who held it. An agent that comes back asks for its host
 * anew, and makes it again with its first report.
 *
 * @throws BerthError `not_found / no_such_host`; `failed_precondition / host_has_instances`,
 *   `/ host_alive` while the lease of its agent lasts, `/ host_in_use` when consumers that are no instances hold something there.
 */
export async function deleteHost(c: Conductor, { host }: DeleteHostRequest): Promise<DeleteHostResponse> {
  const [row] = await c.placement.hosts([host]);
  if (row === undefined) throw noSuchHost(host);
  const there = await instancesOn(c, host);
  if (there.length > 0) {
    // Refused, and the operator's word counts all the same for what waits to hear it.
    if (await isFenced(c, host)) await declareDead(c, host);
    await releaseFence(c, host);
    throw hasInstances(host, there);
  }
  await declareDead(c, host);
  await destroyBeforeDeletion(c, host);
  const result = await c.placement.commit({ kind: 'delete_host', host, atMs: c.clock.now() });
  switch (result.kind) {
    case 'committed':
      c.log.warn({ event: 'host_deleted', host, service_host: row.serviceHost }, 'an operator deleted a host');
      return { serviceHost: row.serviceHost };
    case 'not_found':
      throw noSuchHost(host);
    case 'in_use': {
      await releaseFence(c, host);
      const holders = await holdersOn(c, host, result.uuid ?? row.providerUuid);
      const message = `${result.key} of host ${host} has allocations of consumers that are not on record as its instances: ${holders}; berth provider show ${result.key} says how much`;
      throw new BerthError('failed_precondition', 'host_in_use', message, { details: { host, provider: result.key } });
    }
    default:
      throw new BerthError('internal', 'unexpected_result', `deleting host ${host}: ${result.kind}`);
  }
}

async function instancesOn(c: Conductor, host: string): Promise<Instance[]> {
  const there: Instance[] = [];
  let marker: string | undefined;
  do {
    const page = await c.instances.list({ host }, marker, PAGE);
    there.push(...page.filter(isThere));
    marker = page.length < PAGE ? undefined : page.at(-1)?.uuid;
  } while (marker !== undefined);
  return there;
}

/** False for DELETED and ERROR: their records keep the host. */
function isThere({ state }: Instance): boolean {
  return state !== 'deleted' && state !== 'error';
}

function hasInstances(host: string, there: readonly Instance[]): BerthError {
  const named = there.slice(0, NAMED).map(({ uuid, state }) => `${uuid} (${state})`);
  const more = there.length > NAMED ? `, and ${there.length - NAMED} more` : '';
  const hints = [...new Set(there.map((one) => hintOf(one)))].slice(0, NAMED).join('; ');
  const message = `host ${host} has ${counted(there.length, 'instance')}: ${named.join(', ')}${more}; ${hints}`;
  return new BerthError('failed_precondition', 'host_has_instances', message, {
    details: { host, instances: String(there.length) },
  });
}

/** The way out for an instance that is on a host which is to be deleted. */
function hintOf({ uuid, state, migration }: Instance): string {
  if (state === 'deleting' || state === 'undoing') return `${uuid} ends by itself, once its host is known to be down`;
  if (state === 'shelving' || state === 'preempting')
    return `${uuid} leaves by itself, once its host is known to be down`;
  if (state === 'building' || state === 'rebuilding') return `${uuid} is being built: it is there, or elsewhere, soon`;
  if (migration?.phase === 'arrived')
    return `take it back to ${migration.source.host} (berth instance revert ${uuid}), or berth instance evacuate ${uuid}`;
  return `while the host is up, berth host drain; else berth instance evacuate ${uuid}`;
}

/** Consumers that hold something on a provider, and are not on record as instances of its host: which, and the way out. */
async function holdersOn(c: Conductor, host: string, providerUuid: string): Promise<string> {
  const found: Consumer[] = [];
  await c.placement.scanConsumers(async (consumers) => {
    found.push(...consumers.filter(({ allocations }) => providerUuid in allocations).slice(0, NAMED - found.length));
  });
  const records = await c.instances.get(found.map(instanceOfConsumer));
  const byUuid = new Map(records.map((record) => [record.uuid, record]));
  return found.map((one) => holderOf(one, host, byUuid.get(instanceOfConsumer(one)))).join('; ');
}

function holderOf({ uuid, owner, consumerType }: Consumer, host: string, record: Instance | undefined): string {
  if (owner !== 'conductor') return `consumer ${uuid} of a client of the placement API: berth allocation show ${uuid}`;
  if (record === undefined) return `consumer ${uuid}, which has no record: the next audit releases it`;
  const { uuid: instance, state, host: on, migration } = record;
  const about = `instance ${instance} (${state} on ${on ?? 'no host'})`;
  if (consumerType === RESERVATION_CONSUMER) return `${about} has alternates reserved there until it is built`;
  if (migration === undefined) return `${about} still holds a claim there: the next audit releases it`;
  if (migration.phase === 'arrived')
    return `${about} keeps its place on ${host} to go back to: berth instance confirm ${instance}`;
  return `${about} is on a move from or to ${host}: it ends by itself, or berth instance revert ${instance}`;
}

function noSuchHost(host: string): BerthError {
  return new BerthError('not_found', 'no_such_host', `there is no host '${host}'`, { details: { host } });
}
