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
 * others. Answers whether the broker took all.
 */
async function drainOutbox(c: Conductor, holder: string): Promise<boolean> {
  const { instances, measured, config } = c;
  let refused = 0;
  for (let isLast = false; !isLast; ) {
    const page = await instances.readOutbox(config.eventGraceMs, refused, BATCH);
    measured.outboxInstances.set(page.instanceCount);
    measured.outboxAge.set(page.ageMs / 1_000);
    isLast = page.unpublished.length < BATCH;
    if (page.unpublished.length === 0) break;
    if (!c.bus.isConnected() || !(await c.leases.acquire(OUTBOX_LEASE, holder, LEASE_MS))) return true;
    const outcomes = await Promise.all(page.unpublished.map((versions) => c.events.publish(versions)));
    const published = outcomes.filter((isPublished) => isPublished).length;
    measured.takenOver.inc(published);
    refused += outcomes.length - published;
    c.log.info({ event: 'outbox_drained', published, refused }, 'published events that others left');
  }
  return refused === 0;
}
