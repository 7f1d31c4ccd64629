import { sleep } from '#libs/domain/clock';
import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import { leaseMsOf } from '../options';
import { type NodeStoreParts, readNodes } from './node-store';

/**
 * Once per lease, compares the stored records of the held nodes with the ones here, and writes lost ones again. A store
 * restored from an earlier copy still knows the holder of a node, so that nothing else tells the holder; and the next
 * manager would continue from the old record: clean a node that has run an instance since.
 *
 * @param held  by name; it changes meanwhile
 */
export async function keepCompared(parts: NodeStoreParts, held: ReadonlyMap<string, RememberedNode>): Promise<void> {
  const { clock, config, drainEnd, log } = parts;
  for (;;) {
    await sleep(clock, leaseMsOf(config), drainEnd);
    if (drainEnd.aborted) return;
    const before = [...held].map(([host, node]) => ({ host, node, updatedAtMs: node.record.updatedAtMs }));
    try {
      const stored = await readNodes(
        parts,
        before.map(({ host }) => host),
      );
      const lost = before.filter(({ host, updatedAtMs }) => (stored.get(host)?.updatedAtMs ?? 0) < updatedAtMs);
      const kept = lost.filter(({ host, node }) => held.get(host) === node);
      for (const { host } of kept)
        log.warn({ event: 'node_written_again', host }, 'older node state in the store, written again');
      await Promise.allSettled(kept.map(({ node }) => node.writeAgain()));
    } catch (error) {
      log.warn({ event: 'nodes_not_compared', error }, 'node states not compared with the store');
    }
  }
}
