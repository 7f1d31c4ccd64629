import type { Consumer } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from './context';
import { release } from './hand-off';
import { advance } from './records';
import { lost } from './report';

/** The lease that the conductor which audits holds. */
export const AUDIT_LEASE = 'audit';
const FORGET_BATCH = 10_000;

/**
 * Compares every claim with its instance and every instance with its claim, and mends what does not agree. One conductor
 * at a time runs it, by lease; each fix is guarded by the claim's token and the record's version, so that even two at
 * once would do no harm. Consumers of the placement API's clients are not looked at. Answers undefined when another
 * conductor has the lease, else what was found.
 *
 * - `orphan`        a claim whose instance is not there, or at rest without need of it: released
 * - `other_claim`   an active instance whose record names another claim than it holds: the record is corrected
 * - `claim_missing` an active instance that holds nothing, and whose agent did not have it claimed again: ERROR
 */
export async function audit(c: Conductor, holder: string): Promise<Readonly<Record<string, number>> | undefined> {
  const lease = await c.leases.acquire(AUDIT_LEASE, holder, c.config.auditIntervalMs * 2);
  if (!lease) return undefined;
  const nowMs = c.clock.now();
  const settledBeforeMs = nowMs - c.config.auditGraceMs;
  const findings: Record<string, number> = {};
  const note = (finding: string, facts: object) => {
    findings[finding] = (findings[finding] ?? 0) + 1;
    c.measured.mended.inc({ finding });
    c.log.warn({ finding, ...facts }, 'audit mended');
  };

  await c.placement.scanConsumers(async (consumers) => {
    const ours = consumers.filter(({ owner, updatedAtMs }) => owner === 'conductor' && updatedAtMs < settledBeforeMs);
    const instances = new Map((await c.instances.get(ours.map(({ uuid }) => uuid))).map((one) => [one.uuid, one]));
    for (const consumer of ours) {
      const instance = instances.get(consumer.uuid);
      if (isOrphan(instance)) {
        await release(c, consumer.uuid, consumer.claimRevision);
        note('orphan', { instance_uuid: consumer.uuid, state: instance?.state });
      } else if (isMisnamed(instance, consumer, settledBeforeMs)) {
        await advance(c, instance, { claimRevision: consumer.claimRevision });
        note('other_claim', { instance_uuid: consumer.uuid });
      }
    }
  });

  await c.instances.scan(async (rows) => {
    const active = rows.filter(({ state, updatedAtMs }) => state === 'active' && updatedAtMs < settledBeforeMs);
    const held = new Set((await c.placement.consumers(active.map(({ uuid }) => uuid))).map(({ uuid }) => uuid));
    for (const instance of active.filter(({ uuid }) => !held.has(uuid))) {
      note('claim_missing', { instance_uuid: instance.uuid, host: instance.host });
      await lost(c, instance, 'it holds no allocation, and its host did not report it');
    }
  });

  const forgotten = await c.instances.forget(nowMs - c.config.retentionMs, FORGET_BATCH);
  c.measured.audits.inc();
  c.log.info({ findings, forgotten, epoch: lease.epoch }, 'audit done');
  return findings;
}

function isOrphan(instance: Instance | undefined): boolean {
  return instance === undefined || instance.state === 'error' || instance.state === 'deleted';
}

function isMisnamed(
  instance: Instance | undefined,
  { claimRevision }: Consumer,
  settledBeforeMs: number,
): instance is Instance {
  return (
    instance?.state === 'active' && instance.claimRevision !== claimRevision && instance.updatedAtMs < settledBeforeMs
  );
}
