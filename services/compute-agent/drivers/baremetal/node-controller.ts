import type { BootDevice } from '#libs/domain/nodes/node';

/**
 * What switches one node (its BMC). Every order goes by a claim of the node under an epoch, and the controller itself refuses those
 * of an older one: an agent that was paused, and whose node has another manager since, can do no harm whatever it still has
 * in hand.
 *
 * All throw BerthError `aborted / epoch_superseded` when the node was claimed under a later epoch; `unavailable /
 * controller_away`, `/ controller_busy`: the same may succeed a little later; `failed_precondition / controller_refused`,
 * `/ login_refused`, `/ system_changed`: it may not.
 */
export interface NodeController {
  /** Makes the epoch the node's, unless a later one is; from then on orders of earlier ones are refused. */
  claim(epoch: number, terms?: ClaimTerms): Promise<void>;
  status(): Promise<NodeStatus>;
  /**
   * `off` cuts the power; `shutdown` asks what runs there to end. Resolves when the controller has taken the order, or is at it already;
   * what became of it is seen by `status`.
   */
  setPower(order: 'on' | 'off' | 'shutdown' | 'reboot'): Promise<void>;
  /** Once resolved the controller shows it, if it shows any. @throws BerthError also `failed_precondition / boot_device_refused` */
  setBootDevice(device: BootDevice, isOnce: boolean): Promise<void>;
  /** Gives the session back; the node stays claimed. */
  close(): Promise<void>;
}

export interface ClaimTerms {
  /** The machine that the node is (`NodeRecord.systemId`); '' while not known. Another in its place is not ordered. */
  readonly systemId?: string;
  /** True when nobody else can hold the node now; asked where the controller itself can't tell. */
  readonly isCertain?: () => boolean;
  /**
   * The node has no record yet. @throws BerthError `failed_precondition / managed_before`: it had one once; `/ mark_not_kept`: nothing
   * tells.
   */
  readonly isNew?: boolean;
}

export interface NodeStatus {
  readonly isOn: boolean;
  /** Switched, and not there yet. */
  readonly isSwitching?: boolean;
  /** True when an operating system has come up since it was switched on; undefined when the controller does not say. */
  readonly hasBooted: boolean | undefined;
  /** How far it says that a boot is, in its own word. */
  readonly progress?: string;
  /** From what it is to boot once, and has not yet; undefined when the controller shows nothing of that kind. */
  readonly pendingBoot?: string | undefined;
  /** The machine, as its firmware says; '' when it does not say. */
  readonly systemId?: string;
  /** What of its fence or its answers is less than the standard's; '' for nothing. */
  readonly weakness?: string;
}
