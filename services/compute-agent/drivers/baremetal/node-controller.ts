import type { BootDevice } from '#libs/domain/nodes/node';

/**
 * What switches one node (its BMC). Every order goes by a claim of the node under an epoch, and the controller itself refuses those
 * of an older one: an agent that was paused, and whose node has another manager since, can do no harm whatever it still has
 * in hand.
 *
 * All throw BerthError `aborted / epoch_superseded` when the node was claimed under a later epoch; `unavailable /
 * controller_away`; `failed_precondition / controller_refused`.
 */
export interface NodeController {
  /** Makes the epoch the node's, unless a later one is; from then on orders of earlier ones are refused. */
  claim(epoch: number): Promise<void>;
  status(): Promise<NodeStatus>;
  /** `off` cuts the power; `shutdown` asks what runs there to end. Resolves when the controller has taken the order. */
  setPower(order: 'on' | 'off' | 'shutdown' | 'reboot'): Promise<void>;
  setBootDevice(device: BootDevice, isOnce: boolean): Promise<void>;
  /** Gives the session back; the node stays claimed. */
  close(): Promise<void>;
}

export interface NodeStatus {
  readonly isOn: boolean;
  /** Whether an operating system has come up since it was switched on. */
  readonly hasBooted: boolean;
}
