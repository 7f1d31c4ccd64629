import { BUILT_STATES, type Instance, isAttemptOpen, isBuiltElsewhere } from '#libs/domain/instance';
import type { Conductor } from '../../conductor';
import { evacuationOf, lookAt } from '../../observation';
import { reconcileLoop } from '../../reconcile-loop';
import { isFenced, releaseFence } from '../../steps/fence-host';
import { matesOf } from '../../steps/moves/affinity-mates';
import { deadBeforeMs, onDeadHosts } from './dead-hosts';
import { endGangsOnDead } from './end-gangs';
import { wantsRebuild } from './wants-rebuild';

/** The lease of the conductor that evacuates by itself: two at once would exceed the bound, and do no other harm. */
export const REBUILD_LEASE = 'rebuild';

/**
 * Evacuates what asked for it (`rebuildPolicy`) from hosts that have been down for long enough and whose agent's lease has run
 * out: at most so many instances at once, the longest dead host first. What no other host takes is tried again, after all others.
 * One conductor at a time, by lease.
 */
export async function rebuildDead(c: Conductor, holder: string): Promise<void> {
  const lease = await c.leases.acquire(REBUILD_LEASE, holder, c.config.auditIntervalMs * 2);
  if (!lease) return;
  await endGangsOnDead(c);
  const onDead = await dueOnDead(c);
  const uncertain = await c.hearing.uncertainAmong(
    c,
    onDead.map(({ record }) => record),
  );
  const due = onDead.filter(({ record }) => uncertain.get(record.uuid)?.isOfItsHost !== false);
  if (due.length === 0) return;
  const room = Math.max(0, c.config.rebuildParallel - (await countUnderWay(c)));
  const records = due.slice(0, room).map(({ record }) => record);
  const fenced = await fenceAll(c, new Set(records.map(({ host = '' }) => host)));
  const chosen = records.filter(({ host = '' }) => fenced.has(host));
  const mates = (await Promise.all(chosen.map((record) => matesOf(c, record)))).flat();
  const evacuated = [...new Map([...chosen, ...mates].map((record) => [record.uuid, record])).values()];
  for (const { uuid, host } of evacuated) {
    c.measured.rebuilds.inc();
    const fields = { event: 'rebuilding_by_policy', instance_uuid: uuid, host };
    c.log.warn(fields, 'host is dead: evacuating, as the request says');
  }
  await reconcileLoop(
    c,
    evacuated.map((record) => lookAt(record, evacuationOf(record))),
  );
  for (const host of fenced) await releaseFence(c, host);
}

/** Instances to be evacuated now, longest dead host first. It reads instances on dead hosts, and names of the others. */
async function dueOnDead(c: Conductor): Promise<readonly Due[]> {
  let due: readonly Due[] = [];
  for await (const { host, records } of onDeadHosts(c)) {
    const found = records.filter((record) => isDue(record, deadBeforeMs(c)));
    const itsDue = found.map((record) => ({ record, deadSinceMs: host.updatedAtMs }));
    due = [...due, ...itsDue].sort(longestDeadFirst).slice(0, c.config.rebuildParallel);
  }
  return due;
}

/** All on their way, wherever they come from: what is in these states is little, and found by them. */
async function countUnderWay(c: Conductor): Promise<number> {
  const listed = await Promise.all(
    (['building', 'rebuilding'] as const).map((state) => c.instances.list({ state }, undefined, Infinity)),
  );
  return listed.flat().filter(isBuiltElsewhere).length;
}

interface Due {
  readonly record: Instance;
  /** When its host was taken as down. */
  readonly deadSinceMs: number;
}

/** Those that found no host come after all others, in turn: else they would keep hosts that died later waiting for ever. */
function longestDeadFirst(a: Due, b: Due): number {
  const triedAtMs = ({ record }: Due) => (record.fault === undefined ? 0 : record.updatedAtMs);
  return triedAtMs(a) - triedAtMs(b) || a.deadSinceMs - b.deadSinceMs || a.record.updatedAtMs - b.record.updatedAtMs;
}

/** A failed evacuation is tried again after the time of the first. */
function isDue(record: Instance, beforeMs: number): boolean {
  const hasFailed = record.fault !== undefined && record.updatedAtMs > beforeMs;
  return (BUILT_STATES.includes(record.state) || isAttemptOpen(record)) && !hasFailed && wantsRebuild(record);
}

/** A host that is silent to schedulers, while its agent's lease lasts, is not dead yet. */
async function fenceAll(c: Conductor, hosts: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const fenced = new Set<string>();
  for (const host of hosts) {
    if (await isFenced(c, host)) fenced.add(host);
  }
  return fenced;
}
