import type { NodeState, NodeVerb } from './node-state';

/** From what a node boots next (DMTF's `BootSourceOverrideTarget`, those that Berth uses). */
export type BootDevice = 'Pxe' | 'Hdd' | 'Cd' | 'Utilities';

/** What an operator orders of a node. */
export type NodeOperation =
  | Exclude<NodeVerb, 'deploy' | 'deployed' | 'undeploy' | 'cleaned' | 'fail'>
  | 'power_on'
  | 'power_off'
  | 'reboot'
  | 'set_boot_device';

/** An operator's order, and what came of it. It is written before it is executed, so that no other manager executes a copy of it. */
export interface LastOrder {
  readonly verb: NodeOperation;
  /** When the node had changed last, as the operator saw it; 0 when it was not looked at. */
  readonly restsOnUpdatedAtMs: number;
  readonly begunAtMs: number;
  readonly outcome: 'begun' | 'done' | 'failed';
  /** Of one that failed, as of a BerthError; else ''. */
  readonly reason: string;
  readonly message: string;
}

/** What is remembered of a node, so that whoever manages it next goes on with it. */
export interface NodeRecord {
  /** The node's name, and that of the host that it is. */
  readonly host: string;
  readonly pool: string;
  /** `CUSTOM_BAREMETAL_GOLD`; '' while nobody has said: then it is not offered. */
  readonly resourceClass: string;
  readonly traits: readonly string[];
  readonly state: NodeState;
  /** Of a node in maintenance, what it was before. */
  readonly stateBefore: NodeState | undefined;
  /** Why it is in maintenance or in error; else ''. */
  readonly reason: string;
  readonly isOn: boolean;
  readonly bootDevice: BootDevice;
  /** The instance that it has, or that is being built on it; '' for none. */
  readonly instanceUuid: string;
  /** How far the work of a state has come, which the driver alone knows. */
  readonly step: string;
  readonly updatedAtMs: number;
  /** Of operators; undefined when there was none. */
  readonly lastOrder: LastOrder | undefined;
  /** The journal of the agent: what the node's instance is, and what it was ordered. JSON. */
  readonly journal: string;
  /** The machine, by what its firmware says and no tenant can change: its uuid, or `serial` and its number; '' while not known. */
  readonly systemId: string;
  /** Why its controller does not serve, or what of it is in doubt; '' when all is well. */
  readonly health: string;
  /** When its controller answered last, to a few minutes; 0 for never. */
  readonly contactedAtMs: number;
  /** True when its controller has ever shown it switched on and not yet booted: what it says of a boot counts. */
  readonly tellsBoot: boolean;
  /** Where it stands at its service: `/redfish/v1/Systems/1`; '' when not known. */
  readonly systemLink: string;
}

const CLASS = /^CUSTOM_BAREMETAL_[A-Z0-9_]{1,200}$/;

/** Whether a node may be of this class: classes that nodes bring are custom ones, and tell by their name what they are. */
export function isNodeClass(name: string): boolean {
  return CLASS.test(name);
}
