import type { Random } from '#libs/domain/random';
import { pick } from '../actions/common';
import { HORIZON_MS } from '../world/draw-plan';
import { standStill } from '../world/faults';
import { START_MS } from '../world/processes';
import { NODE_NAMES } from './rack';
import type { Perform, RingRun } from './ring-checker';
import { AGENTS } from './ring-world';
import { LEASE_MS } from './settings';

/** A node loses its power: what runs there is off, and what boots begins anew. */
export function losesPower(random: Random): Perform {
  const node = pick(random, NODE_NAMES);
  return ({ fleet, checker }) => {
    fleet.note(node, 'loses its power');
    fleet.rack.system(node).isOn = false;
    checker.losesPower(node);
  };
}

/** A controller answers nothing for a while, or says that something is wrong. */
export function controllerFails(random: Random): Perform {
  const node = pick(random, NODE_NAMES);
  const which = pick(random, ['away', 'broken'] as const);
  const forMs = 200 + random.next() * 9_000;
  return ({ fleet }) => {
    fleet.note(node, `has a controller that is ${which}`);
    fleet.rack[which].add(node);
    fleet.later(forMs, () => fleet.rack[which].delete(node));
  };
}

/** Controllers end sessions that are idle, or restart. */
export function sessionsExpire(): Perform {
  return ({ fleet }) => {
    fleet.note('world', 'controllers end all sessions');
    fleet.rack.expireSessions();
  };
}

/** An agent stands still for longer than its leases last, in the middle of something, and wakes up. */
export function standsStillBeyondLease(random: Random): Perform {
  const agent = pick(random, AGENTS);
  const direction = pick(random, ['out', 'back'] as const);
  const which = random.next() < 0.6 ? RACK_LINK : Math.floor(random.next() * 2);
  const after = 1 + Math.floor(random.next() * 6);
  const forMs = LEASE_MS + random.next() * 8_000;
  return ({ fleet }) => {
    // In place of a message to a node's controller, most often: it is sent, or answered, when the agent wakes up.
    const link = fleet.member(agent).links[which];
    link?.insteadOf(direction, after, () => {
      standStill(fleet, agent, forMs);
      return false;
    });
  };
}

const RACK_LINK = 2;

/** An agent leaves the pool, in order or not, and joins again, or never. */
export function leaves(random: Random): Perform {
  // One stays.
  const agent = pick(random, AGENTS.slice(1));
  const isInOrder = random.next() < 0.6;
  const isForGood = random.next() < 0.25;
  const awayMs = 1_000 + random.next() * 14_000;
  return (run) => {
    const { fleet } = run;
    const untilMs = isForGood ? NEVER_MS : sinceStart(run) + awayMs;
    fleet.note(agent, isForGood ? 'leaves for good' : 'leaves for a while');
    if (isInOrder) void fleet.stepBack(agent, untilMs);
    else fleet.sendAway(agent, untilMs);
  };
}

const NEVER_MS = 1_000 * HORIZON_MS;

function sinceStart({ fleet }: RingRun): number {
  return fleet.time.nowMs - START_MS;
}
