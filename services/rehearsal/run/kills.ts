import { BerthError } from '#libs/domain/errors';
import { type Random, randomInt, seededRandom, seedOf } from '#libs/domain/random';
import type { RehearsedFleet } from '../world/rehearsed-fleet';
import type { KillKind } from './options';

/** Mean time between kills of one kind. */
const EVERY_MS = 30_000;
/** Longest time until a killed process or server is back. */
const AWAY_MS = 8_000;

/** Kills processes and servers, each kind at its own times, until the signal aborts. */
export function killMeanwhile(fleet: RehearsedFleet, kinds: readonly KillKind[], signal: AbortSignal): void {
  for (const kind of kinds) {
    const random = seededRandom(seedOf(`${fleet.seed} kills ${kind}`));
    const next = () => fleet.time.at(fleet.time.nowMs - EVERY_MS * Math.log(1 - random.next()), kill);
    const kill = () => {
      if (signal.aborted) return;
      killOne(fleet, kind, random);
      next();
    };
    next();
  }
}

function killOne(fleet: RehearsedFleet, kind: KillKind, random: Random): void {
  const awayMs = AWAY_MS * random.next();
  switch (kind) {
    case 'scheduler':
    case 'conductor':
      return fleet.kill(`${kind}-1`, awayMs);
    case 'agent': {
      const agents = fleet.agents;
      const agent = agents[randomInt(random, agents.length)];
      return agent === undefined ? undefined : fleet.kill(agent, awayMs);
    }
    case 'broker':
    case 'store':
      return breakServer(fleet, kind, awayMs);
  }
}

/** Takes a server away for a time. */
export function breakServer(fleet: RehearsedFleet, kind: 'broker' | 'store', awayMs: number): void {
  const [which, server, reason] =
    kind === 'broker' ? ([0, fleet.broker, 'not_connected'] as const) : ([1, fleet.server, 'store_away'] as const);
  server.refusal = new BerthError('unavailable', reason, `the ${kind} is away`);
  for (const { links } of fleet.members.values()) links[which]?.break(`the ${kind} was killed`);
  fleet.time.at(fleet.time.nowMs + awayMs, () => {
    server.refusal = undefined;
  });
}
