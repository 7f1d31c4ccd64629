import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceToBuild } from '../driver';
import { isFenced, notSurelyHeld } from '../fenced';
import type { ManagedNode } from './managed-node';
import type { NodeCleaning } from './node-cleaning';

/** Deploys an instance, and undoes a failed build unless another run of the agent continues it. */
export async function buildOnNode(
  managed: ManagedNode,
  cleaning: NodeCleaning,
  instance: InstanceToBuild,
  signal: AbortSignal,
): Promise<void> {
  const { closing } = managed;
  try {
    await deploy(managed, instance, AbortSignal.any([signal, closing.signal]));
  } catch (thrown) {
    // The next manager continues it.
    if (signal.reason === 'handed_back' || closing.signal.aborted || isFenced(thrown)) throw thrown;
    await undeployAtLast(managed, cleaning, instance.uuid, signal);
    throw thrown;
  }
}

async function deploy(managed: ManagedNode, instance: InstanceToBuild, signal: AbortSignal): Promise<void> {
  const { node, provisioning, takeTurn, claimPatiently } = managed;
  const { uuid } = instance;
  const { state, instanceUuid } = node.record;
  if (state === 'active' && instanceUuid === uuid) return;
  if (state !== 'deploying' || instanceUuid !== uuid) {
    // A controller that refuses is detected before anything begins that it would have to undo.
    await claimPatiently(signal);
    await takeTurn(() => node.move('deploy', { instanceUuid: uuid, step: '' }));
  }
  await claimPatiently(signal);
  await provisioning.deploy(instance, signal);
  await node.move('deployed', { step: '', isOn: true, bootDevice: 'Hdd' });
}

/** Takes an instance off its node, which is cleaned next. */
export async function undeploy(managed: ManagedNode, cleaning: NodeCleaning, uuid: string): Promise<void> {
  const { node, provisioning, closing, takeTurn, claim } = managed;
  // The instance may be gone here and still in the store's record, where the next manager would find it.
  if (node.record.instanceUuid !== uuid) return node.written();
  await takeTurn(async () => {
    await claim();
    await provisioning.undeploy(uuid, closing.signal);
    const { state, stateBefore } = node.record;
    const next = { instanceUuid: '', step: '', isOn: false };
    // It is cleaned after its maintenance.
    const isKept = state === 'maintenance' && stateBefore;
    await cleaning.move('undeploy', isKept ? { ...next, stateBefore: 'cleaning' } : next);
  });
}

/**
 * Undoes a failed build completely, though its cause may persist, such as an absent controller. Until then the node
 * stays `deploying`; if another agent takes it over, that one undoes the build.
 */
async function undeployAtLast(
  managed: ManagedNode,
  cleaning: NodeCleaning,
  uuid: string,
  signal: AbortSignal,
): Promise<void> {
  const { node, epoch, isCertain, clock, log, pollMs, closing, health } = managed;
  for (let failures = 0; ; failures++) {
    if (!isCertain()) throw notSurelyHeld(node.record.host, epoch);
    try {
      return await undeploy(managed, cleaning, uuid);
    } catch (thrown) {
      if (closing.signal.aborted || signal.reason === 'handed_back' || isFenced(thrown)) throw thrown;
      const fields = { event: 'build_not_undone', host: node.record.host, instance_uuid: uuid, error: thrown };
      if (failures === 0) log.warn(fields, 'failed build not undone, retrying');
      health.failed(BerthError.from(thrown));
      await sleep(clock, pollMs, closing.signal);
    }
  }
}
