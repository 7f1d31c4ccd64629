import type { Settlement } from '#libs/bus/port';
import { ACK, REQUEUE } from '#libs/bus/port';
import { MAX_HANDOVER_BYTES } from '#libs/contracts/limits';
import type { SetPowerState } from '#libs/contracts/power';
import { BerthError } from '#libs/domain/errors';
import { movesUnsupported } from '../drivers/driver';
import type { Host } from '../host/host';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields } from '../reports/report-build';
import { reportPower } from '../reports/report-power';
import { journalInstance, keepInstance } from './keep-instance';

/**
 * Stops an instance for a move, and reports the handover for its destination. The stopped instance is kept until its
 * move is confirmed or reverted. If the driver can't hand it over, it stays as it was.
 */
export async function handOver(host: Host, order: SetPowerState, tracked: TrackedInstance): Promise<Settlement> {
  if (order.live) return handOverNow(host, order, tracked);
  // An exit amid a cold handover is its stop; it is a loss only if the handover fails.
  return host.exits.holdBack(tracked.uuid, () => handOverNow(host, order, tracked));
}

async function handOverNow(host: Host, order: SetPowerState, tracked: TrackedInstance): Promise<Settlement> {
  const { driver, ledger, log, lease, drainEnd } = host;
  const isLive = order.live === true;
  let handover: Uint8Array;
  // An instance that exited during a live handover has left the ledger, and is reported as lost.
  const isLost = () => ledger.get(tracked.uuid) === undefined;
  if (!(await journalHandover(host, tracked, isLive))) return REQUEUE;
  try {
    if (!driver.moves) throw movesUnsupported();
    handover = await driver.moves.handOver(tracked.uuid, isLive, drainEnd);
    if (handover.length > MAX_HANDOVER_BYTES) throw tooMuch(handover.length);
  } catch (thrown) {
    if (isLost()) return drainEnd.aborted ? REQUEUE : ACK;
    // It is as it was before.
    await journalInstance(host, tracked);
    if (drainEnd.aborted) return REQUEUE;
    const error = BerthError.from(thrown);
    log.warn({ event: 'hand_over_failed', ...attemptFields(host, order), error }, 'instance not handed over');
    return reportPower(host, order, tracked, { failure: error });
  }
  if (isLost()) return ACK;
  const next = { ...tracked, state: 'stopped', handedOver: true, poweredAt: lease.nextPosition() } as const;
  const isKnown = await keepInstance(host, next);
  log.debug({ event: 'instance_handed_over', ...attemptFields(host, order) }, 'instance is handed over');
  return isKnown ? reportPower(host, order, next, { handover }) : REQUEUE;
}

/**
 * Journals what is about to be stopped: an agent that dies meanwhile must not take it for lost. A cold handover is a stop, which the next
 * run completes; what is handed over live runs until its end, and the next run lets it run on if it does.
 */
async function journalHandover(host: Host, tracked: TrackedInstance, isLive: boolean): Promise<boolean> {
  if (tracked.state !== 'running' || !host.driver.moves) return true;
  return journalInstance(host, isLive ? { ...tracked, handedOver: true } : { ...tracked, state: 'stopping' });
}

function tooMuch(bytes: number): BerthError {
  const message = `the driver hands over ${bytes} bytes, more than ${MAX_HANDOVER_BYTES}`;
  return new BerthError('internal', 'handover_too_long', message);
}
