import { BerthError } from '#libs/domain/errors';
import { type Random, randomInt } from '#libs/domain/random';
import type { Link } from '#libs/simulation/link';
import { pick } from '../actions/common';
import { HORIZON_MS, kind } from './draw-plan';
import { type Processes, type Servers, START_MS } from './processes';

/** A world with faults. */
export interface FaultyWorld {
  readonly fleet: Processes;
}

type Perform = (world: FaultyWorld) => void;

/** The parts of a world that may fail: processes, links and servers. */
export interface FaultyParts<W extends FaultyWorld> {
  readonly services: readonly string[];
  /** Processes whose messages may be sent twice. */
  readonly senders: readonly string[];
  /** Links of each process that may break: the first ones. */
  readonly linkCount: number;
  /** Draws one of several brokers and stores. */
  readonly serversOf: (random: Random) => (world: W) => Servers;
}

/** No kills later: the agent's lease must expire, and its host report again, before the fleet must be at rest. */
const LAST_DEATH_MS = START_MS + HORIZON_MS + 20_000;

/** Faults of any world, each from its own randomness. */
export function faultsOf<W extends FaultyWorld>({ services, senders, linkCount, serversOf }: FaultyParts<W>) {
  const aLink = (random: Random) => {
    const who = pick(random, services);
    const which = randomInt(random, linkCount);
    return ({ fleet }: FaultyWorld) => fleet.member(who).links[which];
  };
  return {
    kill: (random: Random): Perform => {
      const who = pick(random, services);
      const restartAfterMs = 50 + random.next() * 4_000;
      return ({ fleet }) => fleet.kill(who, restartAfterMs);
    },

    /** A process dies just before one of its messages has its effect, or just after. */
    dieInTheMiddle: (random: Random): Perform => {
      const who = pick(random, services);
      const which = randomInt(random, linkCount);
      const direction = pick(random, ['out', 'back'] as const);
      const after = 1 + randomInt(random, 12);
      const restartAfterMs = 50 + random.next() * 2_000;
      return ({ fleet }) => {
        const { links, process } = fleet.member(who);
        const dies = () => process.isAlive && fleet.time.nowMs < LAST_DEATH_MS && fleet.kill(who, restartAfterMs);
        links[which]?.insteadOf(direction, after, dies);
      };
    },

    restart: (random: Random): Perform => {
      const who = pick(random, services);
      return ({ fleet }) => void fleet.restart(who);
    },

    pause: (random: Random): Perform => {
      const who = pick(random, services);
      // Some pauses outlast every lease.
      const forMs = 100 + random.next() * (random.next() < 0.3 ? 16_000 : 8_000);
      return ({ fleet }) => standStill(fleet, who, forMs);
    },

    breakConnection: (random: Random): Perform => {
      const link = aLink(random);
      return (world) => link(world)?.break('the network');
    },

    loseMessage: (random: Random): Perform => {
      const link = aLink(random);
      const direction = pick(random, ['out', 'back'] as const);
      const after = 1 + randomInt(random, 8);
      return (world) => {
        const trapped = link(world);
        trapped?.insteadOf(direction, after, (what) => trapped.break(`instead of ${what}`));
      };
    },

    cutOff: (random: Random): Perform => {
      const link = aLink(random);
      const forMs = 200 + random.next() * 9_000;
      return (world) => {
        const cut = link(world);
        if (cut) cutFor(world, cut, forMs);
      };
    },

    slowDown: (random: Random): Perform => {
      const link = aLink(random);
      const extraMs = 20 + random.next() * 1_500;
      const forMs = 500 + random.next() * 8_000;
      return (world) => {
        const slow = link(world);
        if (slow === undefined) return;
        slow.extraMs = extraMs;
        world.fleet.later(forMs, () => {
          slow.extraMs = 0;
        });
      };
    },

    sendTwice: (random: Random): Perform => {
      const who = pick(random, senders);
      const afterMs = random.next() ** 3 * 15_000;
      return ({ fleet }) => fleet.member(who).bus.duplicateNext(afterMs);
    },

    brokerRefuses: (random: Random) => {
      const forMs = random.next() * 3_000;
      const isFull = random.next() < 0.5;
      const refusal = isFull
        ? new BerthError('resource_exhausted', 'queue_full', 'the queue is full')
        : new BerthError('unavailable', 'broker_blocked', 'the broker is short of memory');
      const of = serversOf(random);
      return (world: W) => {
        const { broker } = of(world);
        world.fleet.note('broker', `refuses: ${refusal.reason}`);
        broker.refusal = refusal;
        world.fleet.later(forMs, () => {
          broker.refusal = undefined;
        });
      };
    },

    storeAway: (random: Random) => {
      const forMs = random.next() * 4_000;
      const of = serversOf(random);
      return (world: W) => takeStoreAway(world, of(world), forMs);
    },

    clockJumps: (random: Random): Perform => {
      const who = pick(random, services);
      const byMs = pick(random, [-86_400_000, -3_600_000, -10_000, 10_000, 3_600_000, 86_400_000]);
      return ({ fleet }) => {
        fleet.note(who, `has its clock set ${byMs > 0 ? 'forward' : 'back'} by ${Math.abs(byMs) / 1_000} s`);
        fleet.member(who).process.clockOffsetMs = byMs;
      };
    },

    /** A process is cut off both ways for longer than leases last. */
    blackHole: (random: Random): Perform => {
      const who = pick(random, services);
      const forMs = 4_000 + random.next() * 11_000;
      return (world) => {
        for (const link of world.fleet.member(who).links) cutFor(world, link, forMs);
      };
    },
  };
}

/** Faults of every world, with their frequency. */
export function usualFaults<W extends FaultyWorld>(faults: ReturnType<typeof faultsOf<W>>) {
  return {
    kill: kind<W>(0.5, 10, faults.kill),
    'die in the middle': kind<W>(0.6, 14, faults.dieInTheMiddle),
    restart: kind<W>(0.5, 5, faults.restart),
    pause: kind<W>(0.5, 6, faults.pause),
    'break connection': kind<W>(0.5, 8, faults.breakConnection),
    'lose message': kind<W>(0.6, 15, faults.loseMessage),
    'cut off': kind<W>(0.5, 6, faults.cutOff),
    'slow down': kind<W>(0.5, 5, faults.slowDown),
    'send twice': kind<W>(0.6, 10, faults.sendTwice),
    'broker refuses': kind<W>(0.3, 4, faults.brokerRefuses),
  };
}

/** The time by which a store goes back: as to a replica that lags, or to a restored snapshot. */
export function byHowMuch(random: Random): number {
  return pick(random, [100, 1_000, 3_000, 20_000]) * random.next();
}

export function takeStoreAway({ fleet }: FaultyWorld, { server }: Pick<Servers, 'server'>, forMs: number): void {
  fleet.note('store', 'is away');
  server.refusal = new BerthError('unavailable', 'store_away', 'the store is away');
  fleet.later(forMs, () => {
    server.refusal = undefined;
    fleet.note('store', 'is back');
  });
}

/** A process pauses for a while. */
export function standStill(fleet: Processes, who: string, forMs: number): void {
  const { process } = fleet.member(who);
  fleet.note(who, `stands still for ${Math.round(forMs)} ms`);
  process.pause();
  fleet.later(forMs, () => process.resume());
}

/** Without a heartbeat for this long, both sides take a connection as broken. */
const HEARTBEAT_MS = 5_000;

/** A link is silent for a while; its sides notice only by missed heartbeats. */
export function cutFor({ fleet }: FaultyWorld, link: Link, forMs: number): void {
  if (link.isCut) return;
  link.cut();
  fleet.later(HEARTBEAT_MS, () => link.isCut && link.break('no heartbeat'));
  fleet.later(forMs, () => link.heal());
}
