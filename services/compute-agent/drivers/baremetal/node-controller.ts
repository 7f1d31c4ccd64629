import type { Clock } from '#libs/domain/clock';
import type { BootDevice, NodeOperation, NodeRecord } from '#libs/domain/nodes/node';
import type { InstanceToBuild } from '../driver';

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
  /** The service that deploys and cleans the node; without one Berth boots images for that. */
  readonly service?: NodeService;
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

/** A service behind a controller that deploys and cleans nodes by itself, and keeps their states (Ironic). */
export interface NodeService {
  provisioning(terms: WorkTerms): Provisioning;
  /**
   * The state of a node by its service, seen after the record's last change. Called while Berth does not work on it.
   * Throws like the controller.
   */
  observe(record: NodeRecord): Promise<Observation>;
  /** Orders a change of state. Throws like the controller; BerthError `unimplemented / order_unsupported`. */
  operate(verb: NodeOperation, reason: string): Promise<void>;
  /** The instance of others that was observed last; '' for none. */
  readonly foreignInstance: string;
}

/** A node as observed while idle. */
export interface Observation {
  readonly status: NodeStatus;
  /** The fields of its record that follow. */
  readonly fields: Partial<NodeRecord>;
}

/** The limits of work on a node. */
export interface WorkTerms {
  readonly clock: Clock;
  readonly pollMs: number;
  /** Time limit of a power switch, of a boot, and of what a service does in one go. */
  readonly bootTimeoutMs: number;
  /** Time limit of a controller's absence; then the work fails. */
  readonly awayMs: number;
  /** Called with the awaited condition or doubt; '' for none. */
  readonly note: (doubt: string) => void;
}

/**
 * Gives a node an instance, and takes it away with its traces. Each call continues the work of an earlier one, of this
 * manager or another, and may be repeated when that is done. All throw BerthError with the cause of a failure, and
 * `aborted / cancelled`.
 */
export interface Provisioning {
  /** Resolves when the instance runs. */
  deploy(instance: InstanceToBuild, signal: AbortSignal): Promise<void>;
  /** Resolves when nothing of the instance runs. */
  undeploy(uuid: string, signal: AbortSignal): Promise<void>;
  /** Resolves when the next instance may have the node. */
  clean(signal: AbortSignal): Promise<void>;
}
