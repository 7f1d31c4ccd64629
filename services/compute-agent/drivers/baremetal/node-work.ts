import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type BootProof, watchBoot } from './boot-watch';
import type { NodeController, Provisioning, WorkTerms } from './node-controller';
import type { RememberedNode } from './remembered-node';

export interface NodeWorkParts extends WorkTerms {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  /** Reports from the booted system; without it the controller's word counts. */
  readonly proof?: BootProof | undefined;
}

/** Polls without effect before an order is repeated. */
const REORDER_POLLS = 6;
/** Time limit of a power-on; a user waits for the instance to start. */
const MAX_SWITCH_ON_MS = 120_000;

/**
 * Work on a node that takes minutes, in steps recorded before they are taken: the node's next manager continues at the
 * recorded step, and nothing begins twice. The steps: power off; record `boot`; set the boot device; power on; wait for
 * the boot (`watchBoot`). Since the power is off when `boot` is recorded, its state later shows whether it was switched
 * on already.
 *
 * @throws BerthError `aborted / cancelled`; `failed_precondition / boot_unproven`, `/ boot_failed`; errors of the
 *   controller; like `RememberedNode.written`, with nothing ordered then.
 */
export async function bootOnce(work: NodeWorkParts, device: 'Pxe' | 'Utilities', signal: AbortSignal): Promise<void> {
  const { node, controller, clock, pollMs, note } = work;
  // After a failed write only this run knows its step: the next manager would take this boot for the recorded step.
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
      // An earlier run that cut the power, or a power loss, may have used up the one-time boot.
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

/** Cuts the power, again if an operator's order switched it on meanwhile, and resolves when it is off. */
export async function powerOff(work: NodeWorkParts, signal: AbortSignal): Promise<void> {
  const { controller, clock, pollMs, bootTimeoutMs, note } = work;
  const untilMs = clock.elapsed() + bootTimeoutMs;
  for (let polls = 0; ; polls++) {
    // A slow machine is not ordered at each poll: it would begin anew, or refuse.
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

/** Asks the instance's system to shut down, and cuts the power after the time limit. */
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
 * Retries what a controller can't answer now: it restarts, is overloaded, or executes an order. Orders are safe to
 * repeat, because each reads the state first.
 */
export async function patiently<T>(
  { clock, pollMs, awayMs, note }: Omit<WorkTerms, 'bootTimeoutMs'>,
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

/** @throws BerthError `aborted / cancelled` */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the work on the node was cancelled');
}

/** Provisioning by boots over the network: an image writes the instance, another removes the traces. */
export function bootProvisioning(work: NodeWorkParts, cleans: boolean): Provisioning {
  const { controller } = work;
  return {
    async deploy(_, signal) {
      await bootOnce(work, 'Pxe', signal);
      await patiently(work, signal, () => controller.setBootDevice('Hdd', false));
    },
    undeploy: (_, signal) => powerOff(work, signal),
    async clean(signal) {
      if (cleans) await bootOnce(work, 'Utilities', signal);
      await powerOff(work, signal);
    },
  };
}
