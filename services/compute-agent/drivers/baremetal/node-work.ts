import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { NodeController, NodeStatus } from './node-controller';
import type { RememberedNode } from './remembered-node';

export interface NodeWorkParts {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  readonly clock: Clock;
  readonly pollMs: number;
}

/**
 * Work on a node that takes minutes, in steps that are remembered before they are done: whoever manages the node next goes on at
 * the step, and nothing is begun twice. Each is: power off; remember `boot`; set from what to boot; power on; wait until it
 * has booted. That the power is off when `boot` is remembered tells, later, whether it was switched on already.
 *
 * @throws BerthError `aborted / cancelled`; of the controller; as `RememberedNode.written`: nothing was ordered then.
 */
export async function bootOnce(work: NodeWorkParts, device: 'Pxe' | 'Utilities', signal: AbortSignal): Promise<void> {
  const { node, controller, clock, pollMs } = work;
  // After a write that failed only this run knows its step: the next manager would take this boot for the step that the store has.
  await node.written();
  if (node.record.step !== BOOT) {
    await powerOff(work, signal);
    throwIfAborted(signal);
    await node.change({ step: BOOT, isOn: false, bootDevice: device });
  }
  for (;;) {
    throwIfAborted(signal);
    const { isOn, hasBooted } = await controller.status();
    if (hasBooted) return;
    if (!isOn) {
      // What was to be booted once may have been, by a run that cut the power again, or by a node that has lost it.
      await controller.setBootDevice(device, true);
      await controller.setPower('on');
    }
    await waitUntil(controller, (status) => status.hasBooted || !status.isOn, clock, pollMs, signal);
  }
}

const BOOT = 'boot';

/** Cuts the power, again when an operator's order has switched it on meanwhile, and resolves when it is off. */
export async function powerOff(
  { controller, clock, pollMs }: Omit<NodeWorkParts, 'node'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await controller.setPower('off');
    if (!(await controller.status()).isOn) return;
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
}

/** Asks what runs there to end, and cuts the power when it has not after a while. */
export async function shutDown(work: NodeWorkParts, shutdownMs: number, signal: AbortSignal): Promise<void> {
  const { controller, clock, pollMs } = work;
  await controller.setPower('shutdown');
  const untilMs = clock.elapsed() + shutdownMs;
  while ((await controller.status()).isOn && clock.elapsed() < untilMs) {
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
  await powerOff(work, signal);
}

async function waitUntil(
  controller: NodeController,
  isDone: (status: NodeStatus) => boolean,
  clock: Clock,
  pollMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!isDone(await controller.status())) {
    await sleep(clock, pollMs, signal);
    throwIfAborted(signal);
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new BerthError('aborted', 'cancelled', 'the work on the node was cancelled');
}
