import type { Bus } from '../bus/port';
import { castTyped } from '../bus/typed-calls';
import type { NodeView, OperateNode } from '../contracts/nodes';
import { operateNodeCodec } from '../contracts/nodes';
import { agentQueue } from '../contracts/queues';
import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { nextNodeState, nodeChanged, requirePowerFree } from '../domain/nodes/node-state';

/** An operator's order for a node. */
export type NodeOrder = Pick<OperateNode, 'verb'> & Partial<Pick<OperateNode, 'reason' | 'bootDevice'>>;

export interface OperateNodeParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Reads the node. */
  readonly show: (host: string) => Promise<NodeView[]>;
}

const POLL_MS = 100;

/**
 * Orders the agent that manages a node, and resolves to the node once the order is done. Later effects, such as the end
 * of a cleaning, are not awaited. A late or repeated order finds the node changed, and is not executed.
 *
 * @throws BerthError `not_found / unknown_node`, `failed_precondition / node_state`, `/ node_unmanaged`, `/
 *   node_changed`, or the reason of the failure; `deadline_exceeded / node_not_operated`.
 */
export async function operateNode(
  { bus, clock, timeoutMs, show }: OperateNodeParts,
  host: string,
  { verb, reason = '', bootDevice }: NodeOrder,
): Promise<NodeView> {
  const [before] = await show(host);
  if (before === undefined) throw new BerthError('not_found', 'unknown_node', `there is no node ${host}`);
  const { serviceHost = '', state, stateBefore, updatedAtMs } = before;
  switch (verb) {
    case 'power_on':
    case 'power_off':
    case 'reboot':
    case 'set_boot_device':
      requirePowerFree(state);
      break;
    default:
      nextNodeState(state, verb, stateBefore);
  }
  if (serviceHost === '') {
    const message = `no agent manages node ${host} now: start one of its pool, or wait for it`;
    throw new BerthError('failed_precondition', 'node_unmanaged', message);
  }
  const order = { host, verb, reason, bootDevice, epoch: 0, restsOnUpdatedAtMs: updatedAtMs };
  const untilMs = clock.elapsed() + timeoutMs;
  // Expires at the caller's deadline: a node that its operator has turned away from must not be rebooted.
  const cast = () =>
    castTyped({ bus, queue: agentQueue(ordered) }, operateNodeCodec, order, {
      expiresInMs: Math.max(1, untilMs - clock.elapsed()),
    });
  let ordered = serviceHost;
  await cast();
  while (clock.elapsed() < untilMs) {
    const [now] = await show(host);
    if (now && now.updatedAtMs !== updatedAtMs) {
      const { lastOrder } = now;
      if (lastOrder?.restsOnUpdatedAtMs !== updatedAtMs || lastOrder.verb !== verb) throw nodeChanged(host);
      if (lastOrder.outcome === 'done') return now;
      if (lastOrder.outcome === 'failed') {
        throw new BerthError('failed_precondition', lastOrder.reason, lastOrder.message);
      }
    }
    // The former agent released the node without executing the order.
    if (now?.serviceHost && now.serviceHost !== ordered) {
      ordered = now.serviceHost;
      await cast();
    }
    await sleep(clock, POLL_MS);
  }
  const message = `node ${host} does not show it after ${timeoutMs} ms; the log of agent ${ordered} says why`;
  throw new BerthError('deadline_exceeded', 'node_not_operated', message);
}
