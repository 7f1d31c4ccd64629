import type { Random } from '#libs/domain/random';
import type { TrackedInstance } from '#services/compute-agent/host/tracked-instance';
import { agentOf, HOSTS } from '../settings';
import { type Perform, pick } from './common';
import { operate } from './operations';

/** Agents of one host each. */
const SINGLE = ['agent-h1', 'agent-h2'] as const;
/** Some agents come back only after all other faults have ended. */
const AWAY_UNTIL_MS = 45_000;

export function replaceMachine(random: Random): Perform {
  const agent = pick(random, SINGLE);
  return ({ fleet, checker }) => {
    const host = agent.slice('agent-'.length);
    const machine = fleet.machines.get(host);
    fleet.kill(agent, 1_000);
    fleet.note(agent, 'gets a new machine');
    // A copy of an order to build, which waits for the agent, brings it back where nothing is known of it any more.
    for (const uuid of machine?.running.keys() ?? []) checker.comesBack(uuid, host);
    machine?.replace();
  };
}

/**
 * A move has arrived, and the machine of its source is replaced, or dies for good, with the copy that it kept. Its tenant has it reverted
 * right then: before anybody can know.
 */
export function sourceLosesCopy(move: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const moves = move(random);
    const diesAfterMs = 2_500 + random.next() * 3_000;
    const isForGood = random.next() < 0.5;
    const place = random.next();
    return (world) => {
      const { fleet, checker } = world;
      moves(world);
      fleet.later(diesAfterMs, () => {
        const arrived = [...checker.known.values()].flatMap(({ latest: { uuid, migration, state } }) => {
          const isElsewhere = migration && migration.source.host !== migration.destination.host;
          return state === 'verify_resize' && isElsewhere ? [{ uuid, host: migration.source.host }] : [];
        });
        const one = arrived[Math.floor(place * arrived.length)];
        const latest = checker.known.get(one?.uuid ?? '')?.latest;
        if (one === undefined || latest === undefined) return;
        const machine = fleet.machines.get(one.host);
        const isSingle = SINGLE.some((agent) => agent === agentOf(one.host));
        fleet.note(one.host, 'loses its machine');
        for (const uuid of machine?.running.keys() ?? []) checker.comesBack(uuid, one.host);
        if (isForGood && isSingle) fleet.remove(agentOf(one.host));
        else fleet.kill(agentOf(one.host), 1_000);
        machine?.replace();
        operate(world, latest, 'revert');
      });
    };
  };
}

/** A host boots from an older copy of its disk, or an empty one: nothing runs there, and its journal is that of then. */
export function diskGoesBack(random: Random): Perform {
  const host = pick(random, HOSTS);
  const isEmpty = random.next() < 0.3;
  const byMs = 500 + random.next() * 10_000;
  return ({ fleet, checker }) => {
    const machine = fleet.machines.get(host);
    const copy = new Map(isEmpty ? [] : machine?.disk);
    fleet.later(byMs, () => {
      fleet.kill(agentOf(host), 1_000);
      fleet.note(host, `boots from ${isEmpty ? 'an empty disk' : 'an older copy of its disk'}`);
      // By that disk it was never started: what the host says now counts.
      const unstarted = [...(machine?.running.keys() ?? [])].filter((uuid) => isStopped(copy.get(uuid)));
      const destroyed = [...copy.keys()].filter((uuid) => !machine?.disk.has(uuid));
      machine?.replace(copy);
      for (const uuid of destroyed) checker.comesBack(uuid, host);
      for (const uuid of unstarted) checker.startIsUndone(uuid);
    });
  };
}

export function agentStaysAway(random: Random): Perform {
  const agent = pick(random, SINGLE);
  return ({ fleet }) => {
    fleet.note(agent, 'does not come back any more');
    fleet.remove(agent);
  };
}

export function agentAwayForLong(random: Random): Perform {
  const agent = pick(random, SINGLE);
  return goesAway([agent], random);
}

export function agentsAwayForLong(random: Random): Perform {
  return goesAway(SINGLE, random);
}

/** Longer than it takes to forget what was terminated meanwhile. */
function goesAway(agents: readonly string[], random: Random): Perform {
  const afterMs = random.next() * 5_000;
  return ({ fleet }) => {
    for (const agent of agents) fleet.sendAway(agent, AWAY_UNTIL_MS + afterMs);
  };
}

function isStopped(instance: TrackedInstance | undefined): boolean {
  return instance?.state === 'stopped' || instance?.state === 'stopping';
}
