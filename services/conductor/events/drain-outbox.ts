import { sleep } from '#libs/domain/clock';
import { backoffMs } from '#libs/runtime/backoff';
import type { Conductor } from '../context';

/** The lease of whoever publishes what others left: two at once would do no harm but publish everything twice. */
export const OUTBOX_LEASE = 'outbox';

const LEASE_MS = 30_000;
/** Pauses grow to this while the broker refuses events: a listener that takes them gets them again each time. */
const MAX_PAUSE_MS = 15_000;
/** Instances whose events are published at once. */
const BATCH = 200;

/** Drains the outbox periodically until the conductor stops. */
export async function keepDraining(c: Conductor, holder: string): Promise<void> {
  for (let failures = 0; ; ) {
    const limits = { firstMs: c.config.dueIntervalMs, maxMs: Math.max(MAX_PAUSE_MS, c.config.dueIntervalMs) };
    await sleep(c.clock, backoffMs(failures + 1, limits, c.random), c.stopping);
    if (c.stopping.aborted) return;
    try {
      failures = (await drainOutbox(c, holder)) ? 0 : failures + 1;
    } catch (err) {
      c.log.warn({ event: 'outbox_not_drained', err }, 'could not read the outbox, retrying');
    }
  }
}

/**
 * Publishes the events that their writers have not: because they died, or the broker did not take them. Goes through the
 * whole outbox once, so that events which the broker refuses, as it does for a listener whose queue is full, hold up no
 * others. Answers false when it refused some.
 */
async function drainOutbox(c: Conductor, holder: string): Promise<boolean> {
  let published = 0;
  let refused = 0;
  for (let isLast = false; !isLast; ) {
    const waiting = await readWaiting(c, refused);
    isLast = waiting.length < BATCH;
    if (waiting.length === 0) break;
    if (!c.bus.isConnected() || !(await c.leases.acquire(OUTBOX_LEASE, holder, LEASE_MS))) return true;
    const outcomes = await Promise.all(waiting.map((versions) => c.events.publish(versions)));
    const taken = outcomes.filter((isPublished) => isPublished).length;
    published += taken;
    refused += outcomes.length - taken;
  }
  if (published + refused > 0) {
    c.measured.takenOver.inc(published);
    c.log.warn({ event: 'outbox_drained', published, refused }, 'published events that their writers had not');
  }
  // While some are refused nobody else need try; else whoever is next need not wait for the lease to run out.
  if (published > 0 && refused === 0) await c.leases.release(OUTBOX_LEASE, holder);
  return refused === 0;
}

/** What has had its time, but for what was refused in this pass. */
async function readWaiting({ instances, measured, config }: Conductor, skip: number) {
  const { instanceCount, ageMs, unpublished } = await instances.readOutbox(config.eventGraceMs, skip, BATCH);
  measured.outboxInstances.set(instanceCount);
  measured.outboxAge.set(ageMs / 1_000);
  return unpublished;
}
