import { sleep } from '#libs/domain/clock';
import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import { leaseMsOf } from '../options';
import { type NodeStoreParts, readNodes } from './node-store';

/**
 * Compares, once in a lease, what the store remembers of the nodes that are held here with what is remembered here, and writes again
 * what the store has lost. A store that went back to a copy of before still knows who holds a node, so that nothing else tells its
 * holder; and the next manager would go on from what was then: clean a node that an instance runs on since.
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
        log.warn({ event: 'node_written_again', host }, 'the store has an older state of a node');
      await Promise.allSettled(kept.map(({ node }) => node.writeAgain()));
    } catch (error) {
      log.warn({ event: 'nodes_not_compared', error }, 'what the store remembers of nodes could not be compared');
    }
  }
}
