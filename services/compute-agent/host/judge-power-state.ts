import type { SetPowerState } from '#libs/contracts/messages';
import { isAfter } from '#libs/domain/host-position';
import type { PowerState } from '#libs/domain/instance';
import type { TrackedInstance } from './ledger';

/**
 * What to do about an order to stop or to start an instance.
 *
 * - `stop`, `start`
 * - `report`  how it is: it is so already, or the order is a late one
 * - `ignore`  what it is about is not kept here: it is reported by other means
 */
export type PowerJudgement = 'stop' | 'start' | 'report' | 'ignore';

/**
 * An order may come twice, and after the one that was given after it. So it says what the host had said last when it was
 * given; if the instance was stopped or started since, nothing is done, and whoever gave it hears how it is.
 */
export function judgePowerState(order: SetPowerState, tracked: TrackedInstance | undefined): PowerJudgement {
  if (!tracked || !isKept(tracked) || !isAbout(order, tracked)) return 'ignore';
  if (isLate(order, tracked) || powerStateOf(tracked) === order.powerState) return 'report';
  return order.powerState === 'shutdown' ? 'stop' : 'start';
}

export function powerStateOf({ state }: TrackedInstance): PowerState {
  return state === 'stopped' ? 'shutdown' : 'running';
}

function isKept({ state }: TrackedInstance): boolean {
  return state === 'running' || state === 'stopped' || state === 'stopping';
}

/** 0 is whatever is there. A later attempt than this host knows has gone on with what is here, and its disk is an older one. */
function isAbout({ attempt, claimToken }: SetPowerState, tracked: TrackedInstance): boolean {
  return (attempt === 0 || attempt >= tracked.attempt) && (claimToken === 0 || claimToken >= tracked.claimToken);
}

function isLate({ restsOnEpoch, restsOnPosition }: SetPowerState, { poweredAt }: TrackedInstance): boolean {
  if (restsOnEpoch === 0 || poweredAt === undefined) return false;
  return isAfter(poweredAt, { epoch: restsOnEpoch, position: restsOnPosition });
}
