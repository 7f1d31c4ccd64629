import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import { type Host, retryUntilDrainEnd } from '../host/host';
import { undoBuild } from '../host/undo-build';

/**
 * Undoes an abandoned build: its deadline had passed when this run took the node over, or the former run had to give
 * the node up before it could undo it. Otherwise the node would stay `deploying`, and offered.
 */
export async function undoLeft(host: Host, node: RememberedNode): Promise<void> {
  const { instanceUuid: uuid } = node.record;
  const isLeft = () => {
    const { state, instanceUuid } = node.record;
    return state === 'deploying' && instanceUuid === uuid && !host.carriedOn.has(uuid) && !host.ledger.get(uuid);
  };
  // A build order for it that arrives meanwhile waits until nothing of it is left.
  await host.locks.run(uuid, async () => {
    if (!isLeft()) return;
    const fields = { host: host.facts.name, instance_uuid: uuid };
    host.log.info({ event: 'build_undone', ...fields }, 'undoing an abandoned build');
    await retryUntilDrainEnd(
      host,
      () => undoBuild(host, uuid),
      (error) => host.log.warn({ event: 'build_not_undone', ...fields, error }, 'build not undone, retrying'),
    );
  });
}
