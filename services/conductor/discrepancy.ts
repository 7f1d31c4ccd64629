import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import type { HostDiscrepancy, RunningInstance } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { agentQueue } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { requestSpec } from '#libs/domain/request-spec';
import type { ConsumerWrite } from '#libs/placement/store';
import type { Conductor } from './context';
import { settle } from './patience';
import { advance, isBeingBuilt, present } from './records';
import { lost } from './report';
import { orderAgain } from './retry';
import { destroyOn } from './terminate';

/**
 * Mends what a host's report and the store disagree on. The agent is the authority on what runs, the instance record on
 * what should:
 *
 * - runs without a claim, and the record is of this host or lost: the claim is made again, whether it fits or not, and
 *   the record written anew: this is how a store that was wiped heals
 * - runs without a claim, and the record is elsewhere or at its end: the host is told to destroy it
 * - claimed, active, and does not run: it is lost
 * - claimed, to be built, and the host does not know of it: the order was lost, with a broker that died, and is given again
 */
export async function onHostDiscrepancy(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settle(c, message, async () => {
    const discrepancy = hostDiscrepancyCodec.decode(message.body);
    for (const running of discrepancy.unclaimed) await unclaimed(c, discrepancy, running);
    const instances = await c.instances.get(discrepancy.missing);
    const ofHost = instances.filter(({ host }) => host === discrepancy.host);
    for (const instance of ofHost) await missing(c, discrepancy, instance);
  });
}

async function missing(c: Conductor, { host, serviceHost }: HostDiscrepancy, instance: Instance): Promise<void> {
  if (instance.state === 'active') {
    mended(c, 'lost', instance.uuid, host);
    await lost(c, instance, 'its agent no longer reports it');
  } else if (
    isBeingBuilt(instance) &&
    !(await haveOrdersWaiting(c, serviceHost === '' ? [host] : [host, serviceHost]))
  ) {
    mended(c, 'ordered_again', instance.uuid, host);
    await orderAgain(c, instance);
  }
}

/** Whether orders wait until their agents take them: what a host does not know of is not lost then. */
async function haveOrdersWaiting(c: Conductor, agents: readonly string[]): Promise<boolean> {
  const depths = await Promise.all(agents.map((agent) => depthOf(c, agentQueue(agent).name)));
  return depths.some((depth) => depth > 0);
}

async function depthOf(c: Conductor, queue: string): Promise<number> {
  try {
    return await c.bus.depth(queue);
  } catch (thrown) {
    if (BerthError.from(thrown).code !== 'not_found') throw thrown;
    return 0;
  }
}

async function unclaimed(c: Conductor, at: HostDiscrepancy, running: RunningInstance): Promise<void> {
  if (!running.running) return;
  const record = (await present(c, running.instanceUuid)) ?? (await adopt(c, at.host, running));
  if (record?.state === 'active' && record.host === at.host) {
    const claim = {
      uuid: running.instanceUuid,
      ...ownerOf(running),
      allocations: { [at.providerUuid]: running.resources },
    };
    const consumers: ConsumerWrite[] = [{ ...claim, mappings: {}, expect: { kind: 'absent' } }];
    const result = await c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), force: true, consumers });
    if (result.kind !== 'committed') return;
    mended(c, 'claimed_again', record.uuid, at.host);
    await advance(c, record, { claimRevision: result.change.revision });
  } else if (record?.state !== 'building' || record.host !== at.host) {
    mended(c, 'destroyed', running.instanceUuid, at.host);
    await destroyOn(c, at.host, running.instanceUuid, 0, false);
  }
}

/** A record for an instance that runs and nobody knows: the store was lost, the instance was not. */
async function adopt(c: Conductor, host: string, running: RunningInstance): Promise<Instance | undefined> {
  const nowMs = c.clock.now();
  const { instanceUuid: uuid, projectId, userId, name } = running;
  const record: Instance = {
    uuid,
    // A request of its own: the one it came with may have had instances on hosts that have not reported yet.
    requestId: uuid,
    name,
    projectId,
    userId,
    state: 'active',
    host,
    claimRevision: undefined,
    attempts: [],
    fault: undefined,
    requestSpec: requestSpecCodec.encode(requestSpec(running.resources, { projectId, userId })),
    alternates: new Uint8Array(),
    dueAtMs: undefined,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  mended(c, 'adopted', uuid, host);
  const { instances } = await c.instances.create(uuid, [record]);
  return instances[0];
}

function ownerOf({ projectId, userId }: RunningInstance) {
  return { projectId, userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
}

function mended(c: Conductor, finding: string, instanceUuid: string, host: string): void {
  c.measured.mended.inc({ finding });
  c.log.warn({ finding, instance_uuid: instanceUuid, host }, 'host and store disagreed');
}
