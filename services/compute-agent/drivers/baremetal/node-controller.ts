import type { BootDevice } from '#libs/domain/nodes/node';

/**
 * The controller of one node (its BMC). Every order requires a claim of the node under an epoch, and the controller
 * itself refuses orders of an older one: a paused agent whose node has another manager since can do no harm with the
 * orders it still has.
 *
 * All methods throw BerthError `aborted / epoch_superseded` when the node was claimed under a later epoch; `unavailable
 * / controller_away`, `/ controller_busy`, which may pass; `failed_precondition / controller_refused`, `/
 * login_refused`, `/ system_changed`, which may not.
 */
export interface NodeController {
  /** Claims the node under the epoch unless a later one has it; orders of earlier epochs are refused from then on. */
  claim(epoch: number, terms?: ClaimTerms): Promise<void>;
  status(): Promise<NodeStatus>;
  /**
   * `off` cuts the power; `shutdown` asks the operating system to end. Resolves when the controller has accepted the
   * order, or is executing it already; `status` shows the outcome.
   */
  setPower(order: 'on' | 'off' | 'shutdown' | 'reboot'): Promise<void>;
  /**
   * Once resolved the controller shows the override, if it shows any. @throws BerthError also `failed_precondition /
   * boot_device_refused`
   */
  setBootDevice(device: BootDevice, isOnce: boolean): Promise<void>;
  /** Closes the session; the node stays claimed. */
  close(): Promise<void>;
}

export interface ClaimTerms {
  /**
   * The node's machine (`NodeRecord.systemId`); missing while unknown: then it is the one that answers first. '' for whichever
   * answers now. A replaced machine takes no orders.
   */
  readonly systemId?: string | undefined;
  /** True while nobody else can hold the node; called where the controller itself does not show it. */
  readonly isCertain?: () => boolean;
  /**
   * True when the node has no record yet. @throws BerthError `failed_precondition / managed_before`: it had one; `/
   * mark_not_kept`: the controller can't show it.
   */
  readonly isNew?: boolean;
}

export interface NodeStatus {
  readonly isOn: boolean;
  /** True during a power switch. */
  readonly isSwitching?: boolean;
  /** True when an operating system has come up since power-on; undefined when the controller does not report it. */
  readonly hasBooted: boolean | undefined;
  /** The controller's word for the boot progress. */
  readonly progress?: string;
  /** The unused one-time boot device; undefined when the controller shows none. */
  readonly pendingBoot?: string | undefined;
  /** Identifies the machine by its firmware; '' when it shows nothing. */
  readonly systemId?: string;
  /** Weaknesses of its fence or its answers, compared with the standard; '' for none. */
  readonly weakness?: string;
}
