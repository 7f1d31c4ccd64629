import { sleep } from '#libs/domain/clock';
import type { OutboxSize } from '#libs/instances/store';
import { backoffMs } from '#libs/runtime/backoff';
import type { Conductor } from '../conductor';

/** The lease of whoever publishes what others left: two at once would do no harm but publish everything twice. */
export const OUTBOX_LEASE = 'outbox';

const LEASE_MS = 10_000;
/** Pauses grow to this while the broker refuses events: a listener that takes them gets them again each time. */
const MAX_PAUSE_MS = 8_000;
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** Drains the outbox periodically until the conductor stops. */
export async function keepDraining(c: Conductor, holder: string): Promise<void> {
  for (let failures = 0; ; ) {
    const limits = { firstMs: c.config.dueIntervalMs, maxMs: Math.max(MAX_PAUSE_MS, c.config.dueIntervalMs) };
    await sleep(c.clock, backoffMs(failures + 1, limits, c.random), c.stopping);
    if (c.stopping.aborted) return;
    try {
      failures = (await drainOutbox(c, holder)) ? 0 : failures + 1;
    } catch (err) {
      c.log.warn({ event: 'outbox_not_drained', err }, 'outbox not read, retrying');
    }
  }
}

/**
 * Publishes the events that their writers have not: because they died, or the broker did not take them. Goes through the
 * whole outbox once, so that events which the broker refuses, as it does for a listener whose queue is full, hold up no
 * others. Answers false when it refused some.
 */
async function drainOutbox(c: Conductor, holder: string): Promise<boolean> {
  const isHolder = (await c.leases.acquire(OUTBOX_LEASE, holder, LEASE_MS)) !== undefined;
  if (!isHolder) {
    noteSize(c, { instanceCount: 0, ageMs: 0 });
    return true;
  }
  const isConnected = c.bus.isConnected();
  let [published, refused] = [0, 0];
  const size = await c.instances.scanOutbox(isConnected ? c.config.eventGraceMs : NEVER_MS, async (rows) => {
    const outcomes = await Promise.all(rows.map((versions) => c.events.publish(versions)));
    const taken = outcomes.filter((isPublished) => isPublished).length;
    published += taken;
    refused += outcomes.length - taken;
  });
  noteSize(c, size);
  if (published + refused > 0) {
    c.measured.takenOver.inc(published);
    c.log.warn({ event: 'outbox_drained', published, refused }, 'published events left in the outbox');
  }
  // Others may be connected.
  if (!isConnected) await c.leases.release(OUTBOX_LEASE, holder);
  return refused === 0;
}

function noteSize({ measured }: Conductor, { instanceCount, ageMs }: OutboxSize): void {
  measured.outboxInstances.set(instanceCount);
  measured.outboxAge.set(ageMs / 1_000);
}
