import { ACK, type IncomingMessage, POSTPONE } from '#libs/bus/port';
import { buildInstanceCodec } from '#libs/contracts/compute';
import { agentQueue, type QueueSpec, RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import type { Random } from '#libs/domain/random';
import type { Fleet } from '../fleet';
import { agentOf, HOSTS } from '../settings';
import { standStill } from '../world/faults';
import { type Perform, pick } from './common';

/** The broker restarts: all connections break, and what it did not keep on its disk is lost. */
export function brokerRestarts(): Perform {
  return ({ fleet }) => {
    fleet.note('broker', 'restarts, and loses what is not on its disk');
    for (const { links, process } of fleet.members.values()) {
      if (process.isAlive) links[0]?.break('the broker restarts');
    }
    const orders = HOSTS.filter((host) => host !== 'rack-2').map((host) => agentQueue(host.split('-')[0] ?? ''));
    // An operator may have deleted one, which would be declared anew by whoever consumes from it.
    const there = [RPC_SCHEDULER, STATS, ...orders].filter(({ name }) => fleet.hasQueue(name));
    for (const queue of there) void loseTransient(fleet, queue);
  };
}

/** Takes all that waits in a queue, and puts back what is persistent, in its order. */
async function loseTransient({ observer }: Fleet, queue: QueueSpec): Promise<void> {
  const isLost = ({ type }: IncomingMessage) => queue.kind === 'transient' || type === buildInstanceCodec.type;
  let giveBack = () => {};
  const hasAll = new Promise<void>((resolve) => {
    giveBack = resolve;
  });
  const take = async (message: IncomingMessage) => {
    await hasAll;
    return isLost(message) ? ACK : POSTPONE;
  };
  const subscription = await observer.consume(queue, take, { prefetch: 10_000 });
  const cancelled = subscription.cancel();
  giveBack();
  await cancelled;
}

/** Agents stand still for a little longer than builds may take: what they were building is late, and built elsewhere meanwhile. */
export function buildsAreLate(random: Random): Perform {
  const afterMs = 100 + random.next() * 400;
  const forMs = AGENTS.map(() => 4_000 + random.next() * 3_000);
  return ({ fleet }) => {
    fleet.later(afterMs, () => AGENTS.forEach((agent, index) => standStill(fleet, agent, forMs[index] ?? 0)));
  };
}

const AGENTS = [...new Set(HOSTS.map(agentOf))];

/** A cloned machine takes a host over while its holder stands still, for as long as it takes to say what it does not run. */
export function takenOver(random: Random): Perform {
  const agent = pick(random, ['agent-h1', 'agent-h2']);
  return ({ fleet }) => {
    standStill(fleet, agent, TAKEN_OVER_MS);
    fleet.launchClone(agent, TAKEN_OVER_MS);
  };
}

/** Longer than a lease lasts, and than two reports take. */
const TAKEN_OVER_MS = 18_000;
