import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type BootProof, watchBoot } from './boot-watch';
import type { NodeController } from './node-controller';
import type { RememberedNode } from './remembered-node';

export interface NodeWorkParts {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  readonly clock: Clock;
  readonly pollMs: number;
  /** How long a machine may take to switch, and to boot. */
  readonly bootTimeoutMs: number;
  /** How long a controller may be away until the work has failed. */
  readonly awayMs: number;
  /** Hears what is waited for, or in doubt; '' when nothing is. */
  readonly note: (doubt: string) => void;
  /** What boots says that it did; the controller's word counts unless given. */
  readonly proof?: BootProof | undefined;
}

/** Looks at a machine that does not do what was ordered, until it is ordered once more. */
const REORDER_POLLS = 6;
/** Somebody waits for an instance to be started. */
const MAX_SWITCH_ON_MS = 120_000;

/**
 * Work on a node that takes minutes, in steps that are remembered before they are done: whoever manages the node next goes on at
 * the step, and nothing is begun twice. Each is: power off; remember `boot`; set from what to boot; power on; wait until it
 * has booted (`watchBoot`). That the power is off when `boot` is remembered tells, later, whether it was switched on already.
 *
 * @throws BerthError `aborted / cancelled`; `failed_precondition / boot_unproven`, `/ boot_failed`; of the controller; as
 *   `RememberedNode.written`: nothing was ordered then.
 */
export async function bootOnce(work: NodeWorkParts, device: 'Pxe' | 'Utilities', signal: AbortSignal): Promise<void> {
  const { node, controller, clock, pollMs, note } = work;
  // After a write that failed only this run knows its step: the next manager would take this boot for the step that the store has.
  await node.written();
  const isBegun = node.record.step === BOOT;
  if (!isBegun) {
    await powerOff(work, signal);
    throwIfAborted(signal);
    await node.change({ step: BOOT, isOn: false, bootDevice: device });
  }
  const watch = watchBoot(work, device, isBegun);
  try {
    for (;;) {
      throwIfAborted(signal);
      const verdict = watch.judge(await patiently(work, signal, () => controller.status()));
      if (verdict.kind === 'booted') return note('');
      if (verdict.kind === 'wait') {
        note(verdict.doubt);
        await sleep(clock, pollMs, signal);
        continue;
      }
      if (verdict.kind === 'unseen') await powerOff(work, signal);
      // What was to be booted once may have been, by a run that cut the power again, or by a node that has lost it.
      await patiently(work, signal, () => controller.setBootDevice(device, true));
      throwIfAborted(signal);
      await patiently(work, signal, () => controller.setPower('on'));
      watch.switchedOn();
    }
  } finally {
    watch.end();
  }
}

const BOOT = 'boot';

/** Cuts the power, again when an operator's order has switched it on meanwhile, and resolves when it is off. */
export async function powerOff(work: NodeWorkParts, signal: AbortSignal): Promise<void> {
  const { controller, clock, pollMs, bootTimeoutMs, note } = work;
  const untilMs = clock.elapsed() + bootTimeoutMs;
  for (let polls = 0; ; polls++) {
    // One that takes its time is not ordered at each look: it would begin anew, or refuse.
    if (polls % REORDER_POLLS === 0) await patiently(work, signal, () => controller.setPower('off'));
    const { isOn } = await patiently(work, signal, () => controller.status());
    if (!isOn) return;
    if (clock.elapsed() >= untilMs) {
      const message = `node ${work.node.record.host} does not switch off: it is on ${Math.round(bootTimeoutMs / 1_000)} s after the order`;
      throw new BerthError('unavailable', 'power_stuck', message);
    }
    if (polls > 0) note('waits for it to switch off');
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
}

/** Switches a node on, and resolves when it is on. @throws BerthError `unavailable / power_stuck` */
export async function powerOn(work: NodeWorkParts, signal: AbortSignal): Promise<void> {
  const { controller, clock, pollMs } = work;
  const untilMs = clock.elapsed() + Math.min(work.bootTimeoutMs, MAX_SWITCH_ON_MS);
  for (let polls = 0; polls === 0 || clock.elapsed() < untilMs; polls++) {
    if (polls % REORDER_POLLS === 0) await patiently(work, signal, () => controller.setPower('on'));
    const { isOn } = await patiently(work, signal, () => controller.status());
    if (isOn) return;
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
  throw new BerthError('unavailable', 'power_stuck', `node ${work.node.record.host} does not switch on`);
}

/** Asks what runs there to end, and cuts the power when it has not after a while. */
export async function shutDown(work: NodeWorkParts, shutdownMs: number, signal: AbortSignal): Promise<void> {
  const { controller, clock, pollMs } = work;
  await patiently(work, signal, () => controller.setPower('shutdown'));
  const untilMs = clock.elapsed() + shutdownMs;
  while ((await patiently(work, signal, () => controller.status())).isOn && clock.elapsed() < untilMs) {
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
  await powerOff(work, signal);
}

/**
 * Repeats what a controller can't answer now: it restarts, is overloaded, or is in the middle of an order. Orders are safe to repeat,
 * because each looks at the state first.
 */
export async function patiently<T>(
  { clock, pollMs, awayMs, note }: Pick<NodeWorkParts, 'clock' | 'pollMs' | 'awayMs' | 'note'>,
  signal: AbortSignal,
  action: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.elapsed() + awayMs;
  for (;;) {
    try {
      return await action();
    } catch (thrown) {
      const { code, message } = BerthError.from(thrown);
      if (code !== 'unavailable' || signal.aborted || clock.elapsed() >= untilMs) throw thrown;
      note(message);
      await sleep(clock, pollMs, signal);
      throwIfAborted(signal);
    }
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the work on the node was cancelled');
}
