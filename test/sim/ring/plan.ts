import type { Random } from '#libs/domain/random';
import { type Action, drawPlan, type Kind, kind } from '../world/draw-plan';
import { byHowMuch, faultsOf, usualFaults } from '../world/faults';
import { managerIsForgotten, standsStillWithOrders, storeAwayBeyondLeases, storeGoesBackInBuilds } from './doubts';
import { controllerFails, leaves, losesPower, sessionsExpire, standsStillBeyondLease } from './machines';
import { carelessPower, clean, latePower, maintain, maintainMany, manage, power, rescue } from './operators';
import type { Perform, RingRun } from './ring-checker';
import { SERVICES } from './ring-world';
import { build, stopOrStart, terminate, terminateSoon } from './tenants';

const faults = faultsOf<RingRun>({
  services: SERVICES,
  senders: [...SERVICES, 'tenant-a', 'operator'],
  linkCount: 3,
  serversOf:
    () =>
    ({ fleet }) =>
      fleet,
});

/** Kinds of actions on a pool. */
const KINDS = {
  build: kind(1, 60, build),
  terminate: kind(1, 30, terminate),
  'build and terminate': kind(0.5, 8, terminateSoon),
  'stop or start': kind(0.6, 14, stopOrStart),
  maintain: kind(0.6, 12, maintain),
  'maintain many': kind(0.3, 4, maintainMany),
  rescue: kind(0.4, 6, rescue),
  manage: kind(0.5, 8, manage),
  clean: kind(0.5, 8, clean),
  power: kind(0.6, 10, power),
  'late power': kind(0.4, 8, latePower),
  'careless power': kind(0.3, 6, carelessPower),
  'node loses power': kind(0.5, 8, losesPower),
  'controller fails': kind(0.5, 10, controllerFails),
  'sessions expire': kind(0.3, 4, () => sessionsExpire()),
  'stands still beyond its lease': kind(0.6, 16, standsStillBeyondLease),
  'agent leaves': kind(0.5, 8, leaves),
  ...usualFaults(faults),
  'store away': kind(0.3, 5, faults.storeAway),
  'store goes back': kind(0.15, 4, storeGoesBack),
  'store is wiped': kind(
    0.1,
    4,
    () =>
      ({ checker }) =>
        void checker.storeGoesBackTo(0),
  ),
  'clock jumps': kind(0.5, 8, faults.clockJumps),
  'black hole': kind(0.3, 4, faults.blackHole),
  'stands still with orders': kind(0.4, 5, standsStillWithOrders),
  'store away beyond leases': kind(0.3, 3, storeAwayBeyondLeases),
  'store goes back in builds': kind(0.15, 3, storeGoesBackInBuilds),
  'manager is forgotten': kind(0.15, 3, managerIsForgotten),
} satisfies Readonly<Record<string, Kind<RingRun>>>;

export const KIND_NAMES = Object.keys(KINDS);

export function planOf(seed: number, actionCount: number, focus?: readonly string[]): Action<RingRun>[] {
  return drawPlan<RingRun>(KINDS, seed, actionCount, focus);
}

function storeGoesBack(random: Random): Perform {
  const byMs = byHowMuch(random);
  return ({ fleet, checker }) => void checker.storeGoesBackTo(fleet.time.nowMs - byMs);
}
