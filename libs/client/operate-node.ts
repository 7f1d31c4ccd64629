import type { Bus } from '../bus/port';
import { castTyped } from '../bus/typed-calls';
import type { NodeView, OperateNode } from '../contracts/messages';
import { operateNodeCodec } from '../contracts/nodes';
import { agentQueue } from '../contracts/queues';
import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { nextNodeState, nodeChanged, requirePowerFree } from '../domain/nodes/node-state';

/** What an operator wants of a node. */
export type NodeOrder = Pick<OperateNode, 'verb'> & Partial<Pick<OperateNode, 'reason' | 'bootDevice'>>;

export interface OperateNodeParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The node as it is. */
  readonly show: (host: string) => Promise<NodeView[]>;
}

const POLL_MS = 100;

/**
 * Orders the agent that manages a node, and resolves to the node as it is when the order is done. What follows of it, such as the end
 * of a cleaning, is not waited for. An order that comes late or twice finds that the node has changed, and is not done.
 *
 * @throws BerthError `not_found / unknown_node`, `failed_precondition / node_state`, `/ node_unmanaged`, `/ node_changed`, or with
 *   the reason for which it failed; `deadline_exceeded / node_not_operated`.
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
  // Nobody waits for it any longer, and a node that an operator has forgotten is not to be rebooted.
  const cast = () =>
    castTyped(bus, agentQueue(ordered), operateNodeCodec, order, {
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
    // The agent before has given it up, and did not do it.
    if (now?.serviceHost && now.serviceHost !== ordered) {
      ordered = now.serviceHost;
      await cast();
    }
    await sleep(clock, POLL_MS);
  }
  const message = `node ${host} does not show it after ${timeoutMs} ms; the log of agent ${ordered} says why`;
  throw new BerthError('deadline_exceeded', 'node_not_operated', message);
}
