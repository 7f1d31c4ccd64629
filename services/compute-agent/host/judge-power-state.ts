import type { SetPowerState } from '#libs/contracts/power';
import { isAfter } from '#libs/domain/host-position';
import type { PowerState } from '#libs/domain/instance';
import { isOfEarlierEpoch } from '../holding/host-lease';
import type { TrackedInstance } from './tracked-instance';

/**
 * The decision on an order to stop or start an instance.
 *
 * - `stop`, `start`
 * - `report`  its state: it is already as ordered, or the order is late, or may be
 * - `ignore`  the order is about an instance that is not kept here, which other reports cover
 */
export type PowerJudgement = 'stop' | 'start' | 'report' | 'ignore';

/**
 * An order may come twice, and after a later one. So it carries the host's last position when it was given; if the
 * instance was stopped or started since, nothing is done, and its state is reported to the sender. The same holds for
 * an order that rests on a position of an earlier run: that run may have executed and reported it, and later ones,
 * before its disk was restored to an older state. An order that rests on no position is of the run that its sender knew:
 * one that waited for this run may be superseded by an order behind it. The sender repeats it if it is still wanted.
 *
 * @param epoch  of the host's lease
 */
export function judgePowerState(
  order: SetPowerState,
  tracked: TrackedInstance | undefined,
  epoch: number,
): PowerJudgement {
  if (!tracked || !isKept(tracked) || !isAbout(order, tracked)) return 'ignore';
  if (powerStateOf(tracked) === order.powerState) return 'report';
  if (isLate(order, tracked) || isOfEarlierEpoch(order.restsOnEpoch || order.epoch, epoch)) return 'report';
  return order.powerState === 'shutdown' ? 'stop' : 'start';
}

export function powerStateOf({ state }: TrackedInstance): PowerState {
  return state === 'stopped' ? 'shutdown' : 'running';
}

function isKept({ state }: TrackedInstance): boolean {
  return state === 'running' || state === 'stopped' || state === 'stopping';
}

/** 0 matches any. A later attempt than this host knows has replaced the local instance, whose disk is older. */
function isAbout({ attempt, claimToken }: SetPowerState, tracked: TrackedInstance): boolean {
  return (attempt === 0 || attempt >= tracked.attempt) && (claimToken === 0 || claimToken >= tracked.claimToken);
}

function isLate({ restsOnEpoch, restsOnPosition }: SetPowerState, { poweredAt }: TrackedInstance): boolean {
  if (restsOnEpoch === 0 || poweredAt === undefined) return false;
  return isAfter(poweredAt, { epoch: restsOnEpoch, position: restsOnPosition });
}
