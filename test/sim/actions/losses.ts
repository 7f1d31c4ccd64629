import { type Random, randomInt } from '#libs/domain/random';
import { agentOf, HOSTS } from '../settings';
import { type Perform, pick } from './common';
import { conductorDies } from './operations';

/** Time of a run by which silent hosts are back: the rest of it is long enough to hear them. */
const BACK_BY_MS = 45_000;

/** The store's server dies and comes back without its last second, as one does that syncs each second; builds are under way. */
export function losesLastSecond(build: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const builds = Array.from({ length: 2 + randomInt(random, 2) }, () => build(random));
    const afterMs = 300 + random.next() * 1_700;
    const byMs = 200 + random.next() * 800;
    return (world) => {
      const { fleet, checker } = world;
      for (const one of builds) one(world);
      fleet.later(afterMs, () => void checker.storeGoesBackTo(fleet.time.nowMs - byMs));
    };
  };
}

/**
 * The fault that ends the store's server takes a host off the network, too: its machine runs builds that the store forgot, and
 * nobody hears of it before it is back.
 */
export function hostFallsSilent(build: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const builds = Array.from({ length: 2 + randomInt(random, 2) }, () => build(random));
    const agent = agentOf(pick(random, HOSTS));
    const afterMs = 600 + random.next() * 1_400;
    const byMs = 300 + random.next() * 1_200;
    const silentForMs = 5_000 + random.next() ** 2 * 20_000;
    return (world) => {
      const { fleet, checker } = world;
      for (const one of builds) one(world);
      fleet.later(afterMs, () => {
        fleet.sendAway(agent, Math.min(fleet.time.nowMs + silentForMs, BACK_BY_MS));
        void checker.storeGoesBackTo(fleet.time.nowMs - byMs);
      });
    };
  };
}

/** An older copy of the store is put back: from when builds were under way that have ended since. */
export function olderCopyOfBuilds(build: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const builds = Array.from({ length: 2 + randomInt(random, 2) }, () => build(random));
    const copiedAfterMs = 20 + random.next() ** 2 * 800;
    const backAfterMs = 1_500 + random.next() * 6_000;
    const dies = pick(random, [() => {}, conductorDies(random)]);
    return (world) => {
      const { fleet, checker } = world;
      const copiedAtMs = fleet.time.nowMs + copiedAfterMs;
      for (const one of builds) one(world);
      fleet.later(backAfterMs, () => {
        dies(world);
        void checker.storeGoesBackTo(copiedAtMs);
      });
    };
  };
}

/** The store goes back to before a move that has ended since, or to the middle of it. */
export function forgetsMove(move: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const moves = move(random);
    const copiedAfterMs = random.next() < 0.5 ? 0 : random.next() * 1_500;
    const backAfterMs = 1_500 + random.next() * 4_000;
    return (world) => {
      const { fleet, checker } = world;
      const copiedAtMs = fleet.time.nowMs + copiedAfterMs;
      moves(world);
      fleet.later(backAfterMs, () => void checker.storeGoesBackTo(copiedAtMs));
    };
  };
}
