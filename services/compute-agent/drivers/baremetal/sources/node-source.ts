import type { Resources } from '#libs/domain/inventory';
import type { NodeRecord } from '#libs/domain/nodes/node';
import type { NodeController } from '../node-controller';

/** A node as an inventory knows it. */
export interface NodeDescription {
  /** The name of the host that it is. */
  readonly name: string;
  /** `CUSTOM_BAREMETAL_<CLASS>`, or '' when the inventory does not say. */
  readonly resourceClass: string;
  /** Undefined while the machine could not be read: they are as they are remembered. */
  readonly traits: readonly string[] | undefined;
  /** What the machine has, by which nodes were scheduled before they had classes: VCPU, MEMORY_MB, DISK_GB; {} when not known. */
  readonly resources: Resources;
  /** As `NodeRecord.systemId` and `systemLink`, where the inventory is that of the machines. */
  readonly systemId?: string;
  readonly systemLink?: string;
  /** Why it can't be used as the inventory shows it. */
  readonly problem?: string;
}

/** What the store remembers of a node's machine. */
export type KnownMachine = Pick<NodeRecord, 'host' | 'systemId' | 'systemLink'> & Partial<Pick<NodeRecord, 'state'>>;

/** Reads the nodes of the pool that the store remembers, and those that are called as given. */
export type RecallMachines = (alsoCalled: readonly string[]) => Promise<readonly KnownMachine[]>;

/** Where nodes come from, and how each is reached. Every agent of a pool has the same. */
export interface NodeSource {
  /**
   * Names differ, and stay with their machines.
   *
   * @throws BerthError `invalid_argument / bad_nodes`, `unavailable / controller_away`, `failed_precondition / login_refused`.
   */
  list(recall: RecallMachines): Promise<readonly NodeDescription[]>;
  /** Of a node that is listed. */
  controller(name: string): NodeController;
}
