import type { Resources } from '#libs/domain/inventory';
import type { NodeRecord } from '#libs/domain/nodes/node';
import type { NodeController } from '../node-controller';

/** A node in an inventory. */
export interface NodeDescription {
  /** The name of its host. */
  readonly name: string;
  /** `CUSTOM_BAREMETAL_<CLASS>`, or '' when the inventory has none. */
  readonly resourceClass: string;
  /** Undefined while the machine can't be read: the recorded ones stay. */
  readonly traits: readonly string[] | undefined;
  /**
   * The machine's resources, by which nodes without classes were scheduled: VCPU, MEMORY_MB, DISK_GB; {} while unknown.
   */
  readonly resources: Resources;
  /** `NodeRecord.systemId` and `systemLink`, if the machines themselves are the inventory. */
  readonly systemId?: string;
  readonly systemLink?: string;
  /** Why it can't be used as listed. */
  readonly problem?: string;
}

/** The stored identity of a node's machine. */
export type KnownMachine = Pick<NodeRecord, 'host' | 'systemId' | 'systemLink'> & Partial<Pick<NodeRecord, 'state'>>;

/** Reads the pool's stored nodes, and those with the given names. */
export type RecallMachines = (alsoCalled: readonly string[]) => Promise<readonly KnownMachine[]>;

/** The source of nodes and their controllers, equal for every agent of a pool. */
export interface NodeSource {
  /**
   * Names are unique, and stay with their machines.
   *
   * @throws BerthError `invalid_argument / bad_nodes`, `unavailable / controller_away`, `failed_precondition /
   *   login_refused`.
   */
  list(recall: RecallMachines): Promise<readonly NodeDescription[]>;
  /** The controller of a listed node. */
  controller(name: string): NodeController;
}
