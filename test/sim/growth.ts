import { DEAD_LETTERS } from '#libs/bus/port';
import { agentQueue } from '#libs/contracts/queues';
import { confirmed } from './actions/common';
import type { Checker } from './checker';
import type { Fleet } from './fleet';
import { agentOf, CONDUCTOR, HOSTS } from './settings';

/** Amounts of stored data that must not grow at rest. */
interface Kept {
  /** Revision of the placement store: each commit raises it. */
  readonly revision: number;
  readonly deadLetterCount: number;
}

/** The time in which nothing may be written: longer than the intervals of reports, audits and sweeps. */
export const STILL_MS = 6_000;
/** The time for which a doubt outlives its cause, until an audit looks. */
const DOUBT_MS = Number(CONDUCTOR.BERTH_CONDUCTOR_DOUBT_MS) + 2 * Number(CONDUCTOR.BERTH_CONDUCTOR_AUDIT_INTERVAL_MS);

/** Measures the stored data. An expired order becomes a dead letter when its queue is read; RabbitMQ does so by itself. */
export async function measureKept({ server, observer }: Fleet): Promise<Kept> {
  for (const host of HOSTS) await confirmed(observer.depth(agentQueue(agentOf(host).replace('agent-', '')).name));
  return { revision: await server.stores.placement.revision(), deadLetterCount: await observer.depth(DEAD_LETTERS) };
}

/** A fleet at rest writes nothing, and keeps no data of ended instances. */
export async function checkGrowth(fleet: Fleet, checker: Checker, before: Kept): Promise<void> {
  const grows = (what: string) => checker.fail('nothing grows without bound', what);
  const { revision, deadLetterCount } = await measureKept(fleet);
  if (revision !== before.revision) grows(`${revision - before.revision} commits while nothing happens`);
  if (deadLetterCount > before.deadLetterCount) {
    grows(`${deadLetterCount - before.deadLetterCount} dead letters while nothing happens`);
  }
  const { instances, placement } = fleet.server.stores;
  const { instanceCount } = await instances.scanOutbox(0, async () => {});
  if (instanceCount > 0) grows(`${instanceCount} instances are in the outbox`);
  const names = [...checker.hosts.keys()];
  const down = new Set((await placement.hosts(names)).filter(({ up }) => !up).map(({ name }) => name));
  for (const { finding, instanceUuid, host, seenAtMs } of await instances.listDoubts()) {
    const ageMs = fleet.time.nowMs - seenAtMs;
    if (ageMs > DOUBT_MS && !down.has(host)) grows(`${finding} ${instanceUuid} on ${host} is kept for ${ageMs} ms`);
  }
  const open = [...fleet.sessions].filter((session) => session.isConnected()).length;
  if (fleet.answerQueueCount > open) grows(`${fleet.answerQueueCount} queues for answers of ${open} connections`);
  for (const [name, { disk, running, stopped }] of fleet.machines) {
    const isLeft = (uuid: string) => !running.has(uuid) && !stopped.has(uuid);
    const left = fleet.isCarried(name) ? [...disk.keys()].filter(isLeft) : [];
    if (left.length > 0) grows(`the journal of ${name} has ${left.join(', ')}, which are not there`);
  }
}
