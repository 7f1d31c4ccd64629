import { BerthError } from '../errors';

/**
 * The states of a bare metal node (Ironic's provision states, with its maintenance flag as a state).
 *
 * - `enroll`       known, not managed yet: it takes no orders
 * - `manageable`   managed by Berth; not offered
 * - `cleaning`     the traces of the last instance are being removed
 * - `available`    free for an instance
 * - `deploying`    an instance is being built on it
 * - `active`       has an instance
 * - `rescue`       has an instance, and is booted into a rescue system
 * - `maintenance`  an operator works on it; its former state stays on record
 * - `error`        something failed that an operator must look at
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

/** An event of a node: an operator's verb (`manage` to `unmaintain`), an order, or the outcome of work on it. */
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

/** The target of `unmaintain`: the node's former state. */
export const BEFORE = 'before';

type Transitions = Readonly<Record<NodeState, Readonly<Partial<Record<NodeVerb, NodeState | typeof BEFORE>>>>>;

/** All transitions; anything else is refused. */
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

/** The states in which the node's class is offered or claimed: it is free, has an instance or is getting one. */
const OFFERED: readonly NodeState[] = ['available', 'deploying', 'active', 'rescue'];

/** True when the node's state allows a claim on its class. */
export function isOffered(state: NodeState): boolean {
  return OFFERED.includes(state);
}

/**
 * The states in which only Berth may change the node's power and boot device: it works on the node, or does not manage
 * it yet.
 */
const POWER_IS_BUSY: readonly NodeState[] = ['enroll', 'cleaning', 'deploying'];

/** @throws BerthError `failed_precondition / node_state` when an operator may not touch the power or the boot device. */
export function requirePowerFree(state: NodeState): void {
  if (!POWER_IS_BUSY.includes(state)) return;
  const message = `the power and the boot device of a node in state ${state} are left alone: wait, or manage it first`;
  throw new BerthError('failed_precondition', 'node_state', message);
}

/** The order was made for an earlier state of the node. */
export function nodeChanged(host: string): BerthError {
  const message = `node ${host} has changed since it was looked at: look again, and order it again`;
  return new BerthError('failed_precondition', 'node_changed', message);
}

/**
 * The state after a verb.
 *
 * @param before  the state before maintenance
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
