import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import type { Random } from '#libs/domain/random';
import type { Doubt } from '#libs/instances/doubts';
import { agentOf, HOSTS } from '../settings';
import { confirmed, type Perform, pick, type World } from './common';
import { operatorOf } from './drains';
import { conductorDies, operate, terminateNow } from './operations';

/** Longer than the lease of an agent. */
const LEASE_MS = 13_000;
/** Some agents come back only after all other faults have ended. */
const AWAY_UNTIL_MS = 45_000;
const AGENTS = [...new Set(HOSTS.map(agentOf))];

/** An operator deletes a host, whatever is there: refused unless it is dead and empty. */
export function deleteHost(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => void deleteNow(world, host, false);
}

/**
 * The hosts of an agent are dead, for good or for long. What is there is evacuated, what finds no other host is terminated, and the hosts are deleted:
 * what an agent brings back with it is still to be destroyed.
 */
export function deleteDeadHosts(random: Random): Perform {
  const agent = pick(random, AGENTS);
  const isForGood = random.next() < 0.4;
  const backAfterMs = random.next() * 8_000;
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  return (world) => {
    const { fleet } = world;
    const { time } = fleet;
    if (isForGood) fleet.remove(agent);
    else fleet.sendAway(agent, AWAY_UNTIL_MS + backAfterMs);
    const hosts = HOSTS.filter((host) => agentOf(host) === agent);
    const there = () => [...world.checker.known.values()].map(({ latest }) => latest).filter((one) => isOn(one, hosts));
    for (const afterMs of [LEASE_MS - 1_000, LEASE_MS, LEASE_MS + 2_000]) {
      time.at(time.nowMs + afterMs, () => {
        for (const one of there()) if (BUILT_STATES.includes(one.state)) operate(world, one, 'evacuate', true);
      });
    }
    time.at(time.nowMs + LEASE_MS + 5_000, () => {
      dies(world);
      for (const { uuid } of there()) terminateNow(world, uuid, true);
    });
    for (const afterMs of [1_000, 3_000, 6_000, 8_000, 11_000]) {
      time.at(time.nowMs + LEASE_MS + afterMs, () => {
        for (const host of hosts) void deleteNow(world, host, isForGood);
      });
    }
  };
}

/**
 * All faults have ended, and an operator reads the audit: what a store that lost writes waits to hear of hosts that are gone for good is
 * never heard. What may run there is evacuated, and the hosts are deleted, or refused to be for what is on them: both ends the waiting.
 */
export function buryDeadHosts(world: World): void {
  const { fleet } = world;
  const bury = async () => {
    const doubts = await fleet.server.stores.instances.listDoubts();
    const isAwaited = ({ finding, host }: Doubt) => finding === 'unheard' && fleet.isGone(agentOf(host));
    for (const { instanceUuid, host } of doubts.filter(isAwaited)) {
      const [record] = await fleet.server.stores.instances.get([instanceUuid]);
      if (record) operate(world, record, 'evacuate', true);
      else void deleteNow(world, host, false);
    }
  };
  for (const afterMs of BURIED_AFTER_MS) fleet.time.at(fleet.time.nowMs + afterMs, () => void bury());
}

/** By the first, a host that left as the faults ended is down, and its agent's lease is over. */
const BURIED_AFTER_MS = [16_000, 20_000] as const;

function isOn({ host = '', state }: Instance, hosts: readonly string[]): boolean {
  return hosts.includes(host) && state !== 'deleted' && state !== 'error';
}

async function deleteNow(world: World, host: string, isForGood: boolean): Promise<void> {
  const { fleet, checker } = world;
  const { storeBegan, operatedHosts } = checker;
  if (!(await confirmed(operatorOf(world).deleteHost(host, { withQueue: isForGood })))) return;
  fleet.note('operator', `has deleted ${host}${isForGood ? ' for good' : ''}`);
  // A second process of its agent may have asked for it by the time that this is heard.
  const isGone = isForGood && !fleet.hasClone(agentOf(host));
  if (isGone && checker.storeBegan === storeBegan) operatedHosts.deletedForGood(host);
}
