import { backlogOf } from '#libs/bus/backlog';
import { BUILD_RESULTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { Conductor } from '../conductor';
import { lookAt } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { groupByRequest } from '../steps/select-destinations';

const BATCH = 100;
/** After a loss hosts are heard one after the other, by their next reports. */
const HEARD_WITHIN_MS = 2_000;

/**
 * Work that gives up what is overdue, done only while no reports of agents wait: the one that is missing may be among them, and a flood
 * of one agent would end the builds of all.
 */
export function unlessBehind(c: Conductor, work: () => Promise<void>): () => Promise<void> {
  const backlog = backlogOf(c.bus, BUILD_RESULTS.name, c.clock);
  let wasBehind = false;
  return async () => {
    const behind = await backlog();
    if (behind !== undefined && !wasBehind) {
      const fields = { event: 'results_behind', waiting: behind.waiting, taken_per_second: behind.takenPerSecond };
      c.log.warn(fields, 'reports of agents wait: nothing is overdue meanwhile');
    }
    wasBehind = behind !== undefined;
    if (!wasBehind) await work();
  };
}

/**
 * Looks at instances whose deadline has passed, whoever worked on them before: agents that never answered, builds that a
 * conductor left between two steps, hosts that never confirmed a destruction. One conductor takes each, for as long as a scheduler may
 * take to answer it, or until hosts may be heard after the store lost writes.
 */
export async function sweepOverdue(c: Conductor): Promise<void> {
  const { schedulingTimeoutMs, selectTimeoutMs } = c.config;
  const heardInMs = await c.hearing.dueInMs(c);
  const leaseMs = heardInMs === undefined ? selectTimeoutMs : heardInMs + HEARD_WITHIN_MS;
  const due = await c.instances.takeDue(c.clock.now(), Math.min(leaseMs, schedulingTimeoutMs), BATCH);
  if (due.length === 0) return;
  const groups = groupByRequest(due);
  await Promise.all(
    groups.map(([requestId, records]) =>
      reconcileLoop(
        c,
        records.map((record) => lookAt(record, { kind: 'nothing' })),
        // They are due again when their lease ends.
      ).catch((err: unknown) => {
        c.measured.waits.inc({ reason: BerthError.from(err).reason });
        for (const { dueAtMs = 0 } of records) c.measured.overdue.observe((c.clock.now() - dueAtMs) / 1_000);
        c.log.warn({ event: 'overdue_not_reconciled', err, request_id: requestId }, 'could not reconcile, retrying');
      }),
    ),
  );
}
