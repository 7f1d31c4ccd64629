import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { NodeStatus } from './node-controller';
import type { RememberedNode } from './remembered-node';

/** Receives reports from booted systems that they are up and done. */
export interface BootProof {
  /** Starts to expect a boot's report; earlier reports do not count. */
  expect(boot: ExpectedBoot): Expectation;
}

export interface ExpectedBoot {
  readonly node: string;
  /** `NodeRecord.systemId`. */
  readonly systemId: () => string;
  /** The expected boot device. */
  readonly device: string;
}

export interface Expectation {
  /** The report: none yet, done, or failed with a reason. */
  readonly word: { readonly kind: 'none' | 'done' } | { readonly kind: 'failed'; readonly why: string };
  end(): void;
}

export type BootVerdict =
  | { readonly kind: 'booted' }
  /** The power is off: switch it on. */
  | { readonly kind: 'off' }
  /** The power is on by no order of this run, with an unknown boot device: switch it off and boot again. */
  | { readonly kind: 'unseen' }
  /** `doubt` is the reason for operators; '' while nothing is unusual. */
  | { readonly kind: 'wait'; readonly doubt: string };

export interface BootWatch {
  /** @throws BerthError `failed_precondition / boot_unproven`, `/ boot_failed` */
  judge(status: NodeStatus): BootVerdict;
  switchedOn(): void;
  end(): void;
}

export interface BootWatchParts {
  readonly node: RememberedNode;
  readonly clock: Clock;
  readonly bootTimeoutMs: number;
  readonly proof?: BootProof | undefined;
}

/**
 * Polls until a machine without boot progress, or a boot without a beginning, is no longer believed; and until one that is shown off after
 * its order may have lost its power. The latter doubles with each order: a controller may show power-on that late.
 */
const DOUBT_LOOKS = 12;
/** Polls of a machine that another agent switched on, until an up system is not the one from before. */
const STEADY_LOOKS = 3;

/**
 * Decides whether a machine has booted from the requested device.
 *
 * The booted system itself proves it (`BootProof`), where configured: then nothing else counts. Otherwise the
 * controller's signs are combined, since no single one is reliable. `BootProgress` is optional (DSP0268); some
 * controllers show `OSRunning` whenever the power is on, or the progress of the previous boot, and others accept a boot
 * device and ignore it, so that the disk boots. So it counts when the machine was seen on and not yet up since it was
 * switched on, and its one-time boot is used up. Of a boot that another agent began, the beginning may have passed:
 * then a controller that has ever shown a beginning is believed, and any other must boot once more.
 *
 * Without proof the node is not given out: the build or cleaning fails, and names the missing sign.
 */
export function watchBoot(parts: BootWatchParts, device: string, isBegun: boolean): BootWatch {
  return new SignsOfBoot(parts, device, isBegun);
}

class SignsOfBoot implements BootWatch {
  readonly #parts: BootWatchParts;
  readonly #device: string;
  /** True when another agent began the boot. */
  readonly #isBegun: boolean;
  readonly #untilMs: number;
  readonly #expectation: Expectation | undefined;
  #orders = 0;
  /** Ordered again while it was shown off: the boot before may be under way, and the device armed again is left over. */
  #isArmedAgain = false;
  #wasOn = false;
  #looks = 0;
  #hasBegun = false;
  #steadyLooks = 0;

  constructor(parts: BootWatchParts, device: string, isBegun: boolean) {
    const { node, clock, bootTimeoutMs, proof } = parts;
    this.#parts = parts;
    this.#device = device;
    this.#isBegun = isBegun;
    this.#untilMs = clock.elapsed() + bootTimeoutMs;
    this.#expectation = proof?.expect({ node: node.record.host, systemId: () => node.record.systemId, device });
  }

  get #host(): string {
    return this.#parts.node.record.host;
  }

  get #isLate(): boolean {
    return this.#parts.clock.elapsed() >= this.#untilMs;
  }

  judge(status: NodeStatus): BootVerdict {
    this.#looks++;
    if (!status.isOn) {
      if (this.#orders > 0 && this.#isLate) throw bootFailed(`node ${this.#host} does not switch on`);
      if (
        status.isSwitching ||
        (this.#orders > 0 && !this.#wasOn && this.#looks <= DOUBT_LOOKS * 2 ** (this.#orders - 1))
      )
        return wait('waits for it to switch on');
      // It may have lost its power: a boot without the device armed again would be the disk's.
      this.#isArmedAgain = this.#orders > 0;
      return { kind: 'off' };
    }
    // Off when this work began, and on by an earlier order: a slow power-on was shown as off.
    if (!this.#isBegun && this.#orders === 0) return { kind: 'unseen' };
    this.#wasOn = true;
    const { word } = this.#expectation ?? {};
    if (word?.kind === 'failed')
      throw bootFailed(`what booted from ${this.#device} on node ${this.#host} failed: ${word.why}`);
    if (word?.kind === 'done') return { kind: 'booted' };
    const verdict = this.#expectation
      ? wait(`waits for word of what boots from ${this.#device} (heartbeat)`)
      : this.#believe(status);
    if (verdict.kind === 'wait' && this.#isLate) {
      const shown = status.progress ? `; the controller shows ${status.progress}` : '';
      throw bootFailed(
        `node ${this.#host} has not booted from ${this.#device} within ${Math.round(this.#parts.bootTimeoutMs / 1_000)} s: ${verdict.doubt || 'it is still starting'}${shown}`,
      );
    }
    return verdict;
  }

  #believe({ hasBooted, pendingBoot, progress = '' }: NodeStatus): BootVerdict {
    const { node } = this.#parts;
    if (hasBooted === undefined) {
      return this.#doubt('the controller shows no BootProgress: nothing tells whether it has booted');
    }
    if (!hasBooted) {
      this.#hasBegun = true;
      this.#steadyLooks = 0;
      if (!node.record.tellsBoot) node.note({ tellsBoot: true }).catch(() => {});
      return wait(
        this.#looks > DOUBT_LOOKS ? `waits for it to boot from ${this.#device}: the controller shows ${progress}` : '',
      );
    }
    this.#steadyLooks++;
    if (pendingBoot === this.#device) {
      const why = `it is up, and its one-time boot from ${this.#device} still waits to be used: something else has booted`;
      const mayBeLeft = this.#isArmedAgain && !this.#isLate;
      return mayBeLeft && this.#looks >= DOUBT_LOOKS ? this.#bootAnew() : this.#doubt(why);
    }
    const enough = this.#isBegun && this.#orders === 0 ? STEADY_LOOKS : DOUBT_LOOKS;
    if (this.#hasBegun || (node.record.tellsBoot && this.#steadyLooks >= enough)) return { kind: 'booted' };
    return this.#doubt(`the controller shows ${progress} and never showed it starting: that tells nothing`);
  }

  #bootAnew(): BootVerdict {
    this.#isArmedAgain = false;
    return { kind: 'unseen' };
  }

  #doubt(why: string): BootVerdict {
    if (this.#looks < DOUBT_LOOKS) return wait(why);
    if (this.#isBegun && this.#orders === 0) return { kind: 'unseen' };
    const message = `node ${this.#host}, booting from ${this.#device}: ${why}; have what boots report itself (BERTH_AGENT_HEARTBEAT_SECRET)`;
    throw new BerthError('failed_precondition', 'boot_unproven', message);
  }

  switchedOn(): void {
    this.#orders++;
    this.#wasOn = false;
    this.#hasBegun = false;
    this.#looks = 0;
    this.#steadyLooks = 0;
  }

  end(): void {
    this.#expectation?.end();
  }
}

function wait(doubt: string): BootVerdict {
  return { kind: 'wait', doubt };
}

function bootFailed(message: string): BerthError {
  return new BerthError('failed_precondition', 'boot_failed', message);
}
