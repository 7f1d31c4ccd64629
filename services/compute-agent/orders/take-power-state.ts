import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import type { SetPowerState } from '#libs/contracts/power';
import { BerthError } from '#libs/domain/errors';
import { movesUnsupported } from '../drivers/driver';
import { type Fence, isFenced } from '../drivers/fenced';
import { instanceToBuild } from '../host/build-order';
import { type Host, retryUntilDrainEnd } from '../host/host';
import { judgePowerState } from '../host/judge-power-state';
import { claimedByName } from '../host/own-providers';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields } from '../reports/report-build';
import { reportPower } from '../reports/report-power';
import { handOver } from './hand-over';
import { keepInstance } from './keep-instance';

/**
 * Stops an instance and keeps it, possibly to be moved, or starts it again, and reports its state; also when there was
 * nothing to do.
 */
export async function takePowerState(host: Host, order: SetPowerState): Promise<Settlement> {
  return host.locks.run(order.instanceUuid, async () => {
    if (host.isOver?.()) return REQUEUE;
    const tracked = host.ledger.get(order.instanceUuid);
    const judgement = judgePowerState(order, tracked, host.lease.epoch);
    if (judgement === 'ignore' || !tracked) return ACK;
    const isMove = (order.migrationUuid ?? '') !== '';
    // An instance that a copy of this order has stopped is handed over again.
    if (isMove && (judgement === 'stop' || tracked.state === 'stopped')) return handOver(host, order, tracked);
    switch (judgement) {
      case 'stop':
        return stop(host, order, tracked);
      case 'start':
        return start(host, order, tracked);
      case 'report':
        return reportPower(host, order, tracked);
    }
  });
}

/** Journalled first: after a crash meanwhile the agent must not take it for lost. */
async function stop(host: Host, order: SetPowerState, tracked: TrackedInstance): Promise<Settlement> {
  const { driver, journal, ledger, log } = host;
  const stopping = { ...tracked, state: 'stopping' } as const;
  const isDone = await retryUntilDrainEnd(
    host,
    async () => {
      ledger.put(stopping);
      await journal.put(stopping);
      await driver.stop(tracked.uuid);
    },
    (error) => log.warn({ event: 'stop_failed', ...attemptFields(host, order), error }, 'stop failed, retrying'),
  );
  return isDone ? settled(host, order, { ...tracked, state: 'stopped' }) : REQUEUE;
}

async function start(host: Host, order: SetPowerState, tracked: TrackedInstance): Promise<Settlement> {
  const { driver, facts, exits, lease } = host;
  const fence = lease.fence();
  return exits.holdBack(tracked.uuid, async () => {
    try {
      // Its claimed providers must still exist.
      claimedByName(facts.providerUuid, driver.capacity(), order);
      if (tracked.yetToResize) await runResized(host, tracked, { ...tracked.yetToResize, fence });
      else await driver.start(tracked.uuid, fence);
    } catch (thrown) {
      // Another run holds the host, or may: this run must not report its state.
      if (isFenced(thrown)) return REQUEUE;
      const error = BerthError.from(thrown);
      host.log.warn({ event: 'start_failed', ...attemptFields(host, order), error }, 'instance not started');
      // Done, though without success: a late copy of the order must not start an instance that is recorded as
      // stopped.
      return settled(host, order, { ...tracked, state: 'stopped' }, error);
    }
    return settled(host, order, { ...tracked, heldBefore: undefined, yetToResize: undefined, state: 'running' });
  });
}

/** Its former resources may belong to another instance by now. */
async function runResized(
  { driver, facts }: Host,
  tracked: TrackedInstance,
  { fence, ...by }: NonNullable<TrackedInstance['yetToResize']> & { readonly fence: Fence },
): Promise<void> {
  if (!driver.moves) throw movesUnsupported();
  const { uuid: instanceUuid, allocations = {} } = tracked;
  const instance = { ...tracked, ...by, instanceUuid, allocations, powerState: 'running' } as const;
  await driver.moves.resize(instanceToBuild(instance, facts.providerUuid, driver.capacity()), fence);
}

async function settled(
  host: Host,
  order: SetPowerState,
  tracked: TrackedInstance & { readonly state: 'running' | 'stopped' },
  failure?: BerthError,
): Promise<Settlement> {
  const { state } = tracked;
  const next = { ...tracked, poweredAt: host.lease.nextPosition() };
  const isKnown = await keepInstance(host, next);
  host.log.debug({ event: `instance_${state}`, ...attemptFields(host, order) }, `instance is ${state}`);
  return isKnown ? reportPower(host, order, next, { failure }) : REQUEUE;
}
