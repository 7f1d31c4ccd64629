import type { Conductor } from '../context';
import type { Look } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/** The lease that the conductor which audits holds. */
export const AUDIT_LEASE = 'audit';
/** The store does nothing else meanwhile: about 2 ms. */
const FORGET_BATCH = 50;

/**
 * Looks at every claim with its record, and at every active record with its claim, when neither has changed for the grace
 * period; then forgets records of what was deleted or ended in error long ago. One conductor at a time runs it, by lease; two at once would do
 * no harm. Consumers of the placement API's clients are left alone.
 */
export async function audit(c: Conductor, holder: string): Promise<void> {
  const lease = await c.leases.acquire(AUDIT_LEASE, holder, c.config.auditIntervalMs * 2);
  if (!lease) return;
  const nowMs = c.clock.now();
  const settledBeforeMs = nowMs - c.config.auditGraceMs;
  const isSettled = ({ updatedAtMs }: { readonly updatedAtMs: number }) => updatedAtMs < settledBeforeMs;
  const observed = { kind: 'audited' } as const;
  const count = { claims: 0, active: 0 };

  await c.placement.scanConsumers(async (consumers) => {
    const claims = consumers.filter((consumer) => consumer.owner === 'conductor' && isSettled(consumer));
    const records = await c.instances.get(claims.map(({ uuid }) => uuid));
    const byUuid = new Map(records.map((record) => [record.uuid, record]));
    count.claims += claims.length;
    const looks = claims.map(({ uuid, claimToken }): Look => {
      return { uuid, record: byUuid.get(uuid), holds: { kind: 'claim', claimToken }, observed };
    });
    await reconcileLoop(
      c,
      looks.filter(({ record }) => record === undefined || isSettled(record)),
    );
  });

  await c.instances.scan(async (records) => {
    const active = records.filter((record) => record.state === 'active' && isSettled(record));
    const holders = await c.placement.consumers(active.map(({ uuid }) => uuid));
    const held = new Set(holders.map(({ uuid }) => uuid));
    count.active += active.length;
    const without = active.filter(({ uuid }) => !held.has(uuid));
    await reconcileLoop(
      c,
      without.map((record) => ({ uuid: record.uuid, record, holds: { kind: 'none' }, observed })),
    );
  });

  const forgotten = await forgetEnded(c, nowMs - c.config.retentionMs);
  c.measured.audits.inc();
  c.log.info({ event: 'audit_done', ...count, forgotten, epoch: lease.epoch }, 'audit done');
}

/** Answers how many. */
async function forgetEnded(c: Conductor, beforeMs: number): Promise<number> {
  for (let forgotten = 0; ; ) {
    const batch = await c.instances.forget(beforeMs, FORGET_BATCH);
    forgotten += batch;
    if (batch < FORGET_BATCH || c.stopping.aborted) return forgotten;
  }
}
