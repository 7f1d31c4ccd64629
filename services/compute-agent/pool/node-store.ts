import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { readNodesMethod, writeNodeMethod } from '#libs/contracts/nodes';
import { STATS } from '#libs/contracts/queues';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { retryWithBackoff } from '#libs/runtime/backoff';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { WriteNode } from '../drivers/baremetal/remembered-node';
import { type HostLease, isLoss } from '../holding/host-lease';
import { type AgentConfig, callOptions } from '../options';

export interface NodeStoreParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly drainEnd: AbortSignal;
}

/** Nodes per call: their records fit a message. */
const READ_CHUNK = 200;

/** The stored records of this run's nodes, by name. Retries until answered, or draining has ended. */
export async function readNodes(parts: NodeStoreParts, hosts: readonly string[]): Promise<Map<string, NodeRecord>> {
  const { bus, config, log } = parts;
  const found = new Map<string, NodeRecord>();
  for (let from = 0; from < hosts.length; from += READ_CHUNK) {
    const request = { serviceHost: config.host, hosts: hosts.slice(from, from + READ_CHUNK), pool: '', marker: '' };
    const read = () => callMethod({ bus, queue: STATS }, readNodesMethod, request, callOptions(config));
    const { nodes } = await retry(parts, read, (error) => {
      log.warn({ event: 'nodes_not_read', error }, 'node states not read, retrying');
    });
    for (const node of nodes) found.set(node.host, node);
  }
  return found;
}

/** The stored records of a pool's nodes, without journals. Retries until answered. */
export async function readPool(parts: NodeStoreParts): Promise<NodeRecord[]> {
  const { bus, config, log } = parts;
  const found: NodeRecord[] = [];
  for (let marker = ''; ; ) {
    const request = { serviceHost: config.host, hosts: [], pool: config.pool, marker };
    const read = () => callMethod({ bus, queue: STATS }, readNodesMethod, request, callOptions(config));
    const { nodes } = await retry(parts, read, (error) => {
      log.warn({ event: 'nodes_not_read', error }, 'node states of the pool not read, retrying');
    });
    found.push(...nodes);
    const last = nodes.at(-1);
    if (last === undefined || last.host <= marker) return found;
    marker = last.host;
  }
}

/**
 * Writes a node's record under the epoch of its present lease. Retries until it is written, or the lease by that epoch
 * is no longer certain: then it throws `epoch_superseded` or `epoch_unknown`, and no order may rest on the record.
 */
export function nodeWriter(parts: NodeStoreParts, lease: HostLease): WriteNode {
  const { bus, config, log } = parts;
  const { epoch, host } = lease;
  const fence = lease.fence();
  return (node) => {
    const write = async () => {
      fence();
      const request = { serviceHost: config.host, epoch, node };
      try {
        await callMethod({ bus, queue: STATS }, writeNodeMethod, request, callOptions(config));
      } catch (thrown) {
        const { reason } = BerthError.from(thrown);
        if (isLoss(reason) && lease.epoch === epoch) lease.lose(reason);
        throw thrown;
      }
    };
    return retry(parts, write, (error) => {
      log.warn({ event: 'node_not_written', host, error }, 'node state not written, retrying');
    });
  };
}

function retry<T>(
  { clock, random, config, drainEnd: signal }: NodeStoreParts,
  action: () => Promise<T>,
  onFailure: (error: unknown) => void,
): Promise<T> {
  const pauses = { firstMs: 100, maxMs: config.retryMaxMs };
  const mayRetry = (thrown: unknown) => isRetryable(BerthError.from(thrown));
  return retryWithBackoff(action, { clock, random, ...pauses, signal, isRetryable: mayRetry, onFailure });
}
