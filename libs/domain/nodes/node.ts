import type { NodeState, NodeVerb } from './node-state';

/** The device that a node boots from next (the values of DMTF's `BootSourceOverrideTarget` that Berth uses). */
export type BootDevice = 'Pxe' | 'Hdd' | 'Cd' | 'Utilities';

/** An operator's operation on a node. */
export type NodeOperation =
  | Exclude<NodeVerb, 'deploy' | 'deployed' | 'undeploy' | 'cleaned' | 'fail'>
  | 'power_on'
  | 'power_off'
  | 'reboot'
  | 'set_boot_device';

/** An operator's order and its outcome. It is written before execution, so that no other manager executes a copy. */
export interface LastOrder {
  readonly verb: NodeOperation;
  /** `updatedAtMs` of the node that the operator saw; 0 when the operator saw none. */
  readonly restsOnUpdatedAtMs: number;
  readonly begunAtMs: number;
  readonly outcome: 'begun' | 'done' | 'failed';
  /** Reason of a failure, as in a BerthError; else ''. */
  readonly reason: string;
  readonly message: string;
}

/** The stored state of a node, so that its next manager can continue. */
export interface NodeRecord {
  /** The name of the node, and of its host. */
  readonly host: string;
  readonly pool: string;
  /** `CUSTOM_BAREMETAL_GOLD`; '' while unset: the node is not offered then. */
  readonly resourceClass: string;
  readonly traits: readonly string[];
  readonly state: NodeState;
  /** The state before maintenance. */
  readonly stateBefore: NodeState | undefined;
  /** Why it is in maintenance or in error; else ''. */
  readonly reason: string;
  readonly isOn: boolean;
  readonly bootDevice: BootDevice;
  /** Uuid of its instance, built or being built; '' for none. */
  readonly instanceUuid: string;
  /** Progress within a state, for the driver alone. */
  readonly step: string;
  readonly updatedAtMs: number;
  /** The last operator's order, if any. */
  readonly lastOrder: LastOrder | undefined;
  /** The agent's journal of the node's instance and its orders, as JSON. */
  readonly journal: string;
  /**
   * Identifies the machine by its firmware, which no tenant can change: its uuid, or `serial` and its number; '' while
   * unknown.
   */
  readonly systemId: string;
  /** Why its controller does not answer, or a doubt about it; '' when healthy. */
  readonly health: string;
  /** When its controller answered last, with a resolution of minutes; 0 for never. */
  readonly contactedAtMs: number;
  /** True once its controller has reported it powered on and not yet booted; only then does its boot progress count. */
  readonly tellsBoot: boolean;
  /** Its path at the Redfish service: `/redfish/v1/Systems/1`; '' when unknown. */
  readonly systemLink: string;
}

export const NODE_CLASS_PATTERN = '^CUSTOM_BAREMETAL_[A-Z0-9_]{1,200}$';
const CLASS = new RegExp(NODE_CLASS_PATTERN);

/** True for a class that a node may have: a custom one whose name marks it as bare metal. */
export function isNodeClass(name: string): boolean {
  return CLASS.test(name);
}
