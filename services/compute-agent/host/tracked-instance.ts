import type { BuildInstance } from '#libs/contracts/compute';
import type { Allocations } from '#libs/domain/consumer';
import type { HostPosition } from '#libs/domain/host-position';
import type { Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';

/** A BuildInstance with its request spec decoded and checked. */
export interface BuildOrder extends Omit<BuildInstance, 'requestSpec'> {
  readonly requestSpec: RequestSpec;
  /**
   * All resources claimed for the instance. If the conductor sent none, all that it requires: the unnumbered request
   * group and the granular ones, with its extra specs.
   */
  readonly resources: Resources;
  /** The deadline as ordered, in store time; 0 for none. Copies of the order may come until then. */
  readonly orderedDeadlineAtMs: number;
  /** The original message, for a later run that continues the build. */
  readonly body?: Uint8Array;
}

/**
 * An instance tracked by a host's agent (Nova's resource tracker: `tracked_instances`). It holds its resources from the
 * acceptance of its build until nothing of it is left.
 */
export interface TrackedInstance {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly resources: Resources;
  /** Its resources by provider; empty when unknown, or missing in an older version's journal. */
  readonly allocations?: Allocations;
  /** The newest ordered attempt. */
  readonly attempt: number;
  readonly claimToken: number;
  /** The sealed allocation request of its claim, in base64; empty when the order had none. */
  readonly allocationRequest: string;
  /** The latest deadline of its build orders, in store time; 0 for none, missing in an older version's journal. */
  readonly deadlineAtMs?: number;
  readonly state: 'building' | 'running' | 'stopping' | 'stopped' | 'destroying';
  /** When it was stopped or started last: an order that rests on an earlier position is late. */
  readonly poweredAt?: HostPosition | undefined;
  /**
   * True when it was stopped to be moved, and is kept until the move is confirmed or reverted; in the journal of one that runs, when it may
   * be stopped at any moment, at the end of a live migration.
   */
  readonly handedOver?: boolean;
  /** True when it already counts as this attempt's, and has yet to continue here. */
  readonly isArriving?: boolean;
  /** By provider: its resources before an unfinished resize, which it may use until then. */
  readonly heldBefore?: Allocations | undefined;
  /** Set while its driver may still have it at its former size: the spec to run it with, and never another. */
  readonly yetToResize?: Pick<BuildOrder, 'requestSpec' | 'mappings'> | undefined;
  /** For a build that another run may continue: the order, in base64. */
  readonly orderBody?: string;
}
