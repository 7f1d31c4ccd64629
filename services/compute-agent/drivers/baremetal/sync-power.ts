import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { isFenced } from '../fenced';
import type { ManagedNode } from './managed-node';

/** Polls the power of a node while it is idle, until the driver closes. */
export async function keepSynced(
  managed: ManagedNode,
  { firstMs, everyMs }: NonNullable<ManagedNode['sync']>,
  isAtWork: () => boolean,
): Promise<void> {
  const { clock, closing } = managed;
  for (let pauseMs = firstMs; ; pauseMs = everyMs) {
    await sleep(clock, pauseMs, closing.signal);
    if (closing.signal.aborted) return;
    await syncPower(managed, isAtWork);
  }
}

/**
 * Polls the power of an idle node, to show an operator's use of its button, or an absent controller. A concurrent
 * order's state is later and wins.
 */
async function syncPower(managed: ManagedNode, isAtWork: () => boolean): Promise<void> {
  const { node, controller, isCertain, log, health, claim, closing } = managed;
  const { state, updatedAtMs } = node.record;
  if (state === 'enroll' || isAtWork() || !isCertain()) return;
  try {
    await claim();
    const status = await controller.status();
    const isSame = node.record.updatedAtMs === updatedAtMs && !isAtWork();
    if (!isSame) return;
    health.heard(status);
    if (status.isOn === node.record.isOn || status.isSwitching) return;
    log.info({ event: 'power_changed', host: node.record.host, is_on: status.isOn }, 'node power switched');
    await node.change({ isOn: status.isOn });
  } catch (thrown) {
    if (!isFenced(thrown) && !closing.signal.aborted) health.failed(BerthError.from(thrown));
  }
}
