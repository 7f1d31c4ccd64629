import { BerthError } from '../errors';

/**
 * What a node of bare metal is (Ironic's provision states, with its maintenance flag as a state).
 *
 * - `enroll`       known, and not yet Berth's: nothing is ordered of it
 * - `manageable`   an operator said that Berth manages it; not offered
 * - `cleaning`     what was on it is being removed
 * - `available`    may be given an instance
 * - `deploying`    an instance is being built on it
 * - `active`       has an instance
 * - `rescue`       has an instance, and is booted into something that mends it
 * - `maintenance`  an operator works on it; what it was before stays known
 * - `error`        something went wrong that an operator must look at
 */
export type NodeState =
  | 'enroll'
  | 'manageable'
  | 'cleaning'
  | 'available'
  | 'deploying'
  | 'active'
  | 'rescue'
  | 'maintenance'
  | 'error';

/** What happens to a node: an operator's word (`manage` to `unmaintain`), an order, or how work on it ended. */
export type NodeVerb =
  | 'manage'
  | 'provide'
  | 'clean'
  | 'rescue'
  | 'unrescue'
  | 'maintain'
  | 'unmaintain'
  | 'deploy'
  | 'deployed'
  | 'undeploy'
  | 'cleaned'
  | 'fail';

/** Where `unmaintain` leads: to what the node was before. */
export const BEFORE = 'before';

type Transitions = Readonly<Record<NodeState, Readonly<Partial<Record<NodeVerb, NodeState | typeof BEFORE>>>>>;

/** All transitions. What is not here is refused. */
export const NODE_TRANSITIONS: Transitions = {
  enroll: { manage: 'manageable' },
  manageable: { provide: 'cleaning', clean: 'cleaning', maintain: 'maintenance', fail: 'error' },
  cleaning: { cleaned: 'available', maintain: 'maintenance', fail: 'error' },
  available: { deploy: 'deploying', manage: 'manageable', clean: 'cleaning', maintain: 'maintenance', fail: 'error' },
  deploying: { deployed: 'active', undeploy: 'cleaning' },
  active: { undeploy: 'cleaning', rescue: 'rescue', maintain: 'maintenance' },
  rescue: { undeploy: 'cleaning', unrescue: 'active', maintain: 'maintenance' },
  maintenance: { unmaintain: BEFORE, undeploy: 'maintenance' },
  error: { manage: 'manageable', clean: 'cleaning', maintain: 'maintenance' },
};

/** The states of a node that can be given an instance, has one or is being given one: its class is offered, or claimed. */
const OFFERED: readonly NodeState[] = ['available', 'deploying', 'active', 'rescue'];

/** Whether one of the node's class may be claimed, as far as the node itself goes. */
export function isOffered(state: NodeState): boolean {
  return OFFERED.includes(state);
}

/** The states in which a node's power and boot device are nobody's but Berth's own: it works on it, or it is not its yet. */
const POWER_IS_BUSY: readonly NodeState[] = ['enroll', 'cleaning', 'deploying'];

/** @throws BerthError `failed_precondition / node_state` when an operator may not touch the power or the boot device. */
export function requirePowerFree(state: NodeState): void {
  if (!POWER_IS_BUSY.includes(state)) return;
  const message = `the power and the boot device of a node in state ${state} are left alone: wait, or manage it first`;
  throw new BerthError('failed_precondition', 'node_state', message);
}

/** An order rests on a node as it is not any more. */
export function nodeChanged(host: string): BerthError {
  const message = `node ${host} has changed since it was looked at: look again, and order it again`;
  return new BerthError('failed_precondition', 'node_changed', message);
}

/**
 * The state after a verb.
 *
 * @param before  what a node in maintenance was before
 * @throws BerthError `failed_precondition / node_state`
 */
export function nextNodeState(state: NodeState, verb: NodeVerb, before: NodeState | undefined): NodeState {
  const next = NODE_TRANSITIONS[state][verb];
  if (next === undefined) {
    const may = Object.keys(NODE_TRANSITIONS[state]).join(', ');
    throw new BerthError('failed_precondition', 'node_state', `a node in state ${state} can not ${verb}: only ${may}`);
  }
  return next === BEFORE ? (before ?? 'manageable') : next;
}
