import { isDeepStrictEqual } from 'node:util';
import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import { EARLIER_EPOCH } from '#libs/contracts/compute';
import { BerthError } from '#libs/domain/errors';
import { movesUnsupported } from '../drivers/driver';
import { isFenced } from '../drivers/fenced';
import { isOfEarlierEpoch } from '../holding/host-lease';
import { builtState, instanceToBuild, trackedInstance } from '../host/build-order';
import { type Host, refreshExternalUsage } from '../host/host';
import { type Judgement, judgeRoom } from '../host/instance-claim';
import { heldWhileResized } from '../host/ledger';
import { ownProviders } from '../host/own-providers';
import type { BuildOrder, TrackedInstance } from '../host/tracked-instance';
import { attemptFields, type BuildResult, DESTROYED, reportBuild } from '../reports/report-build';
import { keepInstance } from './keep-instance';
import { refuseBuild } from './refuse-build';

/**
 * Completes a move of an instance that is already here: at the source after a revert, or on the host of an in-place
 * resize. It gets the new attempt first and runs then, so that orders and reports of earlier attempts are late, and so
 * that an instance which can't start is kept, stopped; like one that is to stay stopped.
 *
 * An order of an earlier epoch is refused: the host may have been evacuated while it waited, and the order to destroy the instance
 * waits behind it. The conductor gives it again if it is still wanted.
 */
export async function takeArrivalInPlace(host: Host, order: BuildOrder): Promise<Settlement> {
  return host.locks.run(order.instanceUuid, async () => {
    await refreshExternalUsage(host);
    const tracked = host.ledger.get(order.instanceUuid);
    if (host.tombstones.covers(order.instanceUuid, order)) return reportBuild(host, order, DESTROYED);
    if (!tracked || tracked.state === 'building' || tracked.state === 'destroying')
      return refuse(host, order, NOT_HERE);
    // A late order; or the store has lost the later ones: then the sender gets the present state.
    if (order.attempt < tracked.attempt || order.claimToken < tracked.claimToken) {
      const { attempt, claimToken, isArriving } = tracked;
      return isArriving ? ACK : reportBuild(host, { ...order, attempt, claimToken }, resultOf(order, tracked));
    }
    if (tracked.attempt === order.attempt && !tracked.isArriving)
      return reportBuild(host, order, resultOf(order, tracked));
    if (isOfEarlierEpoch(order.epoch, host.lease.epoch)) return refuse(host, order, OF_EARLIER_EPOCH);
    const refusal = roomWithout(host, order, tracked);
    return refusal.kind === 'refuse' ? refuse(host, order, refusal) : goOn(host, order, tracked);
  });
}

const OF_EARLIER_EPOCH = {
  reason: EARLIER_EPOCH,
  message: 'the order to go on is of an earlier epoch of the host, and has to be given again',
};

const NOT_HERE = { reason: 'not_here', message: 'the instance that is to go on here is not here' };

function resultOf(order: BuildOrder, { state }: TrackedInstance): BuildResult {
  if (state === 'running' || state === builtState(order)) return { outcome: 'active' };
  return { outcome: 'failed', reason: 'stopped', message: 'it is kept here and does not run' };
}

function refuse(host: Host, order: BuildOrder, refusal: { readonly reason: string; readonly message: string }) {
  return reportBuild(host, order, refuseBuild(host, order, refusal));
}

/** Judges the order as if the instance were absent: its former resources are released for the new ones. */
function roomWithout(host: Host, order: BuildOrder, tracked: TrackedInstance): Judgement {
  if (isSame(order, tracked)) return { kind: 'build' };
  const { ledger, facts, driver, external, clock } = host;
  ledger.remove(tracked.uuid);
  const judgement = judgeRoom(order, {
    host: facts.name,
    providers: ownProviders(facts.providerUuid, driver.capacity()),
    usedOn: (providerUuid) => ledger.usedOn(providerUuid),
    external: external.byProvider,
    nowMs: clock.elapsed(),
  });
  ledger.put(tracked);
  return judgement;
}

function isSame({ resources, allocations }: BuildOrder, tracked: TrackedInstance): boolean {
  return isDeepStrictEqual([resources, allocations], [tracked.resources, tracked.allocations ?? {}]);
}

async function goOn(host: Host, order: BuildOrder, before: TrackedInstance): Promise<Settlement> {
  const { driver, facts, log, exits, lease } = host;
  const wanted = builtState(order);
  const fence = lease.fence();
  // An earlier run may have left a resize unfinished.
  const isResized = !isSame(order, before) || before.heldBefore !== undefined || before.yetToResize !== undefined;
  const runsOn = before.state === 'running' && wanted === 'running' && !isResized;
  const next = trackedInstance(order, runsOn ? 'running' : 'stopped');
  // Until the resize is done, its present resources stay held.
  const held = isResized ? { heldBefore: heldWhileResized(facts.providerUuid, before) } : {};
  const { requestSpec, mappings } = order;
  const resizing = isResized ? { yetToResize: { requestSpec, mappings } } : {};
  const arriving = { ...next, ...held, ...resizing, poweredAt: before.poweredAt, isArriving: true };
  if (!(await keepInstance(host, arriving))) return REQUEUE;
  // It exited meanwhile, and is reported as lost.
  if (host.ledger.get(order.instanceUuid) === undefined) return ACK;
  const change = async () => {
    if (isResized) {
      if (!driver.moves) throw movesUnsupported();
      await driver.moves.resize(instanceToBuild(order, facts.providerUuid, driver.capacity()), fence);
    } else if (wanted === 'stopped') {
      await driver.stop(order.instanceUuid);
    } else if (!runsOn) {
      await driver.start(order.instanceUuid, fence);
    }
  };
  try {
    await exits.holdBack(order.instanceUuid, async () => {
      await change();
      await keepInstance(host, { ...next, state: wanted, poweredAt: lease.nextPosition() });
    });
  } catch (thrown) {
    // It is kept, stopped, until the host is surely held.
    if (isFenced(thrown)) return REQUEUE;
    const error = BerthError.from(thrown);
    log.warn({ event: 'start_failed', ...attemptFields(host, order), error }, 'instance not started');
    await driver.stop(order.instanceUuid);
    await keepInstance(host, { ...next, ...resizing, state: 'stopped', poweredAt: lease.nextPosition() });
    return reportBuild(host, order, { outcome: 'failed', reason: error.reason, message: error.message });
  }
  host.reportSoon();
  log.debug({ event: 'instance_arrived', ...attemptFields(host, order) }, 'moved instance arrived');
  return reportBuild(host, order, { outcome: 'active' });
}
