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
export function watchBoot(
  { node, clock, bootTimeoutMs, proof }: BootWatchParts,
  device: string,
  isBegun: boolean,
): BootWatch {
  const { host } = node.record;
  const untilMs = clock.elapsed() + bootTimeoutMs;
  const expectation = proof?.expect({ node: host, systemId: () => node.record.systemId, device });
  let orders = 0;
  /** Ordered again while it was shown off: the boot before may be under way, and the device armed again is left over. */
  let isArmedAgain = false;
  let wasOn = false;
  let looks = 0;
  let hasBegun = false;
  let steadyLooks = 0;

  function judge(status: NodeStatus): BootVerdict {
    looks++;
    if (!status.isOn) {
      if (orders > 0 && clock.elapsed() >= untilMs) throw bootFailed(`node ${host} does not switch on`);
      if (status.isSwitching || (orders > 0 && !wasOn && looks <= DOUBT_LOOKS * 2 ** (orders - 1)))
        return wait('waits for it to switch on');
      // It may have lost its power: a boot without the device armed again would be the disk's.
      isArmedAgain = orders > 0;
      return { kind: 'off' };
    }
    // Off when this work began, and on by an earlier order: a slow power-on was shown as off.
    if (!isBegun && orders === 0) return { kind: 'unseen' };
    wasOn = true;
    const { word } = expectation ?? {};
    if (word?.kind === 'failed') throw bootFailed(`what booted from ${device} on node ${host} failed: ${word.why}`);
    if (word?.kind === 'done') return { kind: 'booted' };
    const verdict = expectation ? wait(`waits for word of what boots from ${device} (heartbeat)`) : believe(status);
    if (verdict.kind === 'wait' && clock.elapsed() >= untilMs) {
      const shown = status.progress ? `; the controller shows ${status.progress}` : '';
      throw bootFailed(
        `node ${host} has not booted from ${device} within ${Math.round(bootTimeoutMs / 1_000)} s: ${verdict.doubt || 'it is still starting'}${shown}`,
      );
    }
    return verdict;
  }

  function believe({ hasBooted, pendingBoot, progress = '' }: NodeStatus): BootVerdict {
    if (hasBooted === undefined) {
      return doubt('the controller shows no BootProgress: nothing tells whether it has booted');
    }
    if (!hasBooted) {
      hasBegun = true;
      steadyLooks = 0;
      if (!node.record.tellsBoot) node.note({ tellsBoot: true }).catch(() => {});
      return wait(looks > DOUBT_LOOKS ? `waits for it to boot from ${device}: the controller shows ${progress}` : '');
    }
    steadyLooks++;
    if (pendingBoot === device) {
      const why = `it is up, and its one-time boot from ${device} still waits to be used: something else has booted`;
      const mayBeLeft = isArmedAgain && clock.elapsed() < untilMs;
      return mayBeLeft && looks >= DOUBT_LOOKS ? bootAnew() : doubt(why);
    }
    const enough = isBegun && orders === 0 ? STEADY_LOOKS : DOUBT_LOOKS;
    if (hasBegun || (node.record.tellsBoot && steadyLooks >= enough)) return { kind: 'booted' };
    return doubt(`the controller shows ${progress} and never showed it starting: that tells nothing`);
  }

  function bootAnew(): BootVerdict {
    isArmedAgain = false;
    return { kind: 'unseen' };
  }

  function doubt(why: string): BootVerdict {
    if (looks < DOUBT_LOOKS) return wait(why);
    if (isBegun && orders === 0) return { kind: 'unseen' };
    const message = `node ${host}, booting from ${device}: ${why}; have what boots report itself (BERTH_AGENT_HEARTBEAT_SECRET)`;
    throw new BerthError('failed_precondition', 'boot_unproven', message);
  }

  return {
    judge,
    switchedOn() {
      orders++;
      wasOn = false;
      hasBegun = false;
      looks = 0;
      steadyLooks = 0;
    },
    end: () => expectation?.end(),
  };
}

function wait(doubt: string): BootVerdict {
  return { kind: 'wait', doubt };
}

function bootFailed(message: string): BerthError {
  return new BerthError('failed_precondition', 'boot_failed', message);
}
