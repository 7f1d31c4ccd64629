import type { NodeRecord } from '#libs/domain/nodes/node';
import type { NodeState } from '#libs/domain/nodes/node-state';
import type { IronicNode } from './ironic-node';

/** A node's record by Ironic's view of the node. */
export interface MirroredState {
  readonly fields: Pick<NodeRecord, 'state' | 'stateBefore' | 'reason' | 'resourceClass' | 'traits'> &
    Partial<Pick<NodeRecord, 'isOn'>>;
  /** Why it is not offered, or a contradiction between Ironic and the record; '' for none. */
  readonly doubt: string;
  /** An instance that Berth did not put there; '' for none. */
  readonly foreignInstance: string;
}

/** Ironic's provision states of nodes without an instance; one that is missing here is not offered. */
const STATES: Readonly<Record<string, NodeState>> = {
  enroll: 'enroll',
  verifying: 'enroll',
  manageable: 'manageable',
  inspecting: 'manageable',
  'inspect wait': 'manageable',
  adopting: 'manageable',
  available: 'available',
  deleting: 'cleaning',
  cleaning: 'cleaning',
  'clean wait': 'cleaning',
  'deploy failed': 'error',
  'clean failed': 'error',
  'inspect failed': 'error',
  'adopt failed': 'error',
  error: 'error',
};
const RESCUE: readonly string[] = [
  'rescue',
  'rescuing',
  'rescue wait',
  'rescue failed',
  'unrescuing',
  'unrescue failed',
];

/**
 * The state of a node by Ironic, while Berth does not work on it. An instance on record stays there whatever Ironic
 * shows: an Ironic that was restored to an earlier state is no proof of its end.
 */
export function mirrorState(record: NodeRecord, node: IronicNode): MirroredState {
  const { instanceUuid: own } = record;
  const {
    state,
    reason = '',
    doubt = '',
    foreignInstance = '',
  } = own === '' ? stateOfFree(node) : stateOfHeld(record, node);
  const common = {
    resourceClass: node.resourceClass || record.resourceClass,
    traits: node.traits,
    ...(node.isOn === undefined || node.isSwitching ? {} : { isOn: node.isOn }),
  };
  const fields = node.isInMaintenance
    ? { state: 'maintenance' as const, stateBefore: state, reason: node.maintenanceReason || 'set at Ironic' }
    : { state, stateBefore: undefined, reason };
  return { fields: { ...fields, ...common }, doubt, foreignInstance };
}

interface JudgedState {
  readonly state: NodeState;
  readonly reason?: string;
  readonly doubt?: string;
  readonly foreignInstance?: string;
}

function stateOfFree({ instanceUuid, provisionState, isOn, lastError }: IronicNode): JudgedState {
  if (instanceUuid !== '') {
    const doubt = `it has instance ${instanceUuid} at Ironic, which Berth did not put there`;
    return { state: 'manageable', doubt, foreignInstance: instanceUuid };
  }
  const state = STATES[provisionState];
  if (state === undefined) return { state: 'manageable', doubt: `it is '${provisionState}' at Ironic, by others` };
  if (state === 'error') return { state, reason: `${provisionState} at Ironic${lastError && `: ${lastError}`}` };
  if (state === 'available' && isOn === undefined) return { state: 'error', reason: 'Ironic does not know its power' };
  return { state };
}

function stateOfHeld({ instanceUuid: own, state, stateBefore }: NodeRecord, node: IronicNode): JudgedState {
  const before = state === 'maintenance' ? (stateBefore ?? 'active') : state;
  if (node.instanceUuid !== own) {
    const shown = node.instanceUuid === '' ? 'no instance' : `instance ${node.instanceUuid}`;
    const doubt = `Ironic shows ${shown} in place of ${own} ('${node.provisionState}')`;
    return { state: before, doubt, foreignInstance: node.instanceUuid };
  }
  if (RESCUE.includes(node.provisionState)) return { state: 'rescue' };
  if (node.provisionState === 'active') return { state: 'active' };
  const error = node.lastError && `: ${node.lastError}`;
  return { state: before, doubt: `it is '${node.provisionState}' at Ironic${error}` };
}
