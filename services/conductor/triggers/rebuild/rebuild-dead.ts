import { BerthError } from '#libs/domain/errors';
import { BUILT_STATES, type Instance, isBuiltElsewhere } from '#libs/domain/instance';
import type { Conductor } from '../../context';
import { lookAt } from '../../observation';
import { reconcileLoop } from '../../reconcile-loop';
import { fenceHost, releaseFence } from '../../steps/fence-host';
import { wantsRebuild } from './wants-rebuild';

/** The lease of the conductor that evacuates by itself: two at once would exceed the bound, and do no other harm. */
export const REBUILD_LEASE = 'rebuild';

/**
 * Evacuates what asked for it (`rebuildPolicy`) from hosts that have been down for long enough and whose agent's lease has run
 * out: at most so many instances at once, the longest dead host first. What no other host takes is tried again in the next pass.
 * One conductor at a time, by lease.
 */
export async function rebuildDead(c: Conductor, holder: string): Promise<void> {
  const lease = await c.leases.acquire(REBUILD_LEASE, holder, c.config.auditIntervalMs * 2);
  if (!lease) return;
  let due: readonly Due[] = [];
  let underWay = 0;
  await c.instances.scan(async (records) => {
    underWay += records.filter(isBuiltElsewhere).length;
    due = [...due, ...(await dueOf(c, records))].sort(longestDeadFirst).slice(0, c.config.rebuildParallel);
  });
  const room = Math.max(0, c.config.rebuildParallel - underWay);
  const records = due.slice(0, room).map(({ record }) => record);
  const fenced = await fenceAll(c, new Set(records.map(({ host = '' }) => host)));
  const evacuated = records.filter(({ host = '' }) => fenced.has(host));
  for (const { uuid, host } of evacuated) {
    c.measured.rebuilds.inc();
    const fields = { event: 'rebuilding_by_policy', instance_uuid: uuid, host };
    c.log.warn(fields, 'its host is dead: evacuating, as its request says');
  }
  await reconcileLoop(
    c,
    evacuated.map((record) => lookAt(record, { kind: 'evacuate_requested' })),
  );
  for (const host of fenced) await releaseFence(c, host);
}

interface Due {
  readonly record: Instance;
  /** When its host was taken as down. */
  readonly deadSinceMs: number;
}

function longestDeadFirst(a: Due, b: Due): number {
  return a.deadSinceMs - b.deadSinceMs || a.record.updatedAtMs - b.record.updatedAtMs;
}

/** What is to be evacuated now: what could not be a while ago waits as long as the first time. */
async function dueOf(c: Conductor, records: readonly Instance[]): Promise<Due[]> {
  const beforeMs = c.clock.now() - c.config.rebuildAfterMs;
  const built = records.filter(({ state }) => BUILT_STATES.includes(state));
  const hosts = await c.placement.hosts([...new Set(built.map(({ host = '' }) => host))]);
  const dead = hosts.filter(({ up, updatedAtMs }) => !up && updatedAtMs <= beforeMs);
  const deadSince = new Map(dead.map(({ name, updatedAtMs }) => [name, updatedAtMs]));
  return built.flatMap((record) => {
    const deadSinceMs = deadSince.get(record.host ?? '');
    const hasFailed = record.fault !== undefined && record.updatedAtMs > beforeMs;
    if (deadSinceMs === undefined || hasFailed || !wantsRebuild(record)) return [];
    return [{ record, deadSinceMs }];
  });
}

/** A host that is silent to schedulers, while its agent's lease lasts, is not dead yet. */
async function fenceAll(c: Conductor, hosts: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const fenced = new Set<string>();
  for (const host of hosts) {
    try {
      await fenceHost(c, host);
      fenced.add(host);
    } catch (thrown) {
      if (BerthError.from(thrown).reason !== 'host_alive') throw thrown;
    }
  }
  return fenced;
}
