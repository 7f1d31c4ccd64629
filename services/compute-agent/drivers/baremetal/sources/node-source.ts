import type { Resources } from '#libs/domain/inventory';
import type { NodeController } from '../node-controller';

/** A node as an inventory knows it. */
export interface NodeDescription {
  /** The name of the host that it is. */
  readonly name: string;
  /** `CUSTOM_BAREMETAL_<CLASS>`, or '' when the inventory does not say. */
  readonly resourceClass: string;
  readonly traits: readonly string[];
  /** What the machine has, by which nodes were scheduled before they had classes: VCPU, MEMORY_MB, DISK_GB; {} when not known. */
  readonly resources: Resources;
}

/** Where nodes come from, and how each is reached. Every agent of a pool has the same. */
export interface NodeSource {
  /** Names differ. @throws BerthError `invalid_argument / bad_nodes`, `unavailable / controller_away`. */
  list(): Promise<readonly NodeDescription[]>;
  /** Of a node that is listed. */
  controller(name: string): NodeController;
}
