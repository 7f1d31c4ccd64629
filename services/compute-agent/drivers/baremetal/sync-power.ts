import { isDeepStrictEqual } from 'node:util';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { isFenced } from '../fenced';
import type { ManagedNode } from './managed-node';
import type { NodeController, Observation } from './node-controller';

/** Polls a node while it is idle, until the driver closes: its power, or its whole state where a service keeps that. */
export async function keepSynced(
  managed: ManagedNode,
  { firstMs, everyMs }: NonNullable<ManagedNode['sync']>,
  isAtWork: () => boolean,
): Promise<void> {
  const { clock, closing } = managed;
  for (let pauseMs = firstMs; ; pauseMs = everyMs) {
    await sleep(clock, pauseMs, closing.signal);
    if (closing.signal.aborted) return;
    await syncNode(managed, isAtWork);
  }
}

/**
 * Polls an idle node, to show an operator's use of its button, a change at its service, or an absent controller. A
 * concurrent order's state is later and wins.
 */
async function syncNode(managed: ManagedNode, isAtWork: () => boolean): Promise<void> {
  const { node, controller, isCertain, log, health, claim, closing } = managed;
  const { state, updatedAtMs } = node.record;
  // A service decides by itself which nodes are managed.
  const isManaged = state !== 'enroll' || controller.service !== undefined;
  if (!isManaged || isAtWork() || !isCertain()) return;
  try {
    await claim();
    const { status, fields } = (await controller.service?.observe(node.record)) ?? (await observePower(controller));
    const isSame = node.record.updatedAtMs === updatedAtMs && !isAtWork();
    if (!isSame) return;
    health.heard(status);
    const before: Readonly<Record<string, unknown>> = { ...node.record };
    const changed = Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(before[name], value));
    if (changed.length === 0) return;
    const { isOn = node.record.isOn, state: next = state } = fields;
    const event = next === state ? 'power_changed' : 'node_state_followed';
    log.info({ event, host: node.record.host, is_on: isOn, state: next }, 'node changed by others');
    await node.change(Object.fromEntries(changed));
  } catch (thrown) {
    if (!isFenced(thrown) && !closing.signal.aborted) health.failed(BerthError.from(thrown));
  }
}

async function observePower(controller: NodeController): Promise<Observation> {
  const status = await controller.status();
  return { status, fields: status.isSwitching ? {} : { isOn: status.isOn } };
}
