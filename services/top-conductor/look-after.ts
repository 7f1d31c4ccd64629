import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from './context';
import { askCell, compareCell, forgottenBy } from './follow-cells';
import { giveToCell, noteFault } from './give-to-cell';
import { givingMs, publish } from './records';
import { endInCell } from './take-requests';

/** The lease of whoever compares cells, empties the outbox and forgets what is old. */
export const KEEPER_LEASE = 'top-keeper';
const LEASE_MS = 30_000;
/** Of instances looked after at once. */
const MAX_DUE = 500;
const MAX_FORGOTTEN = 1_000;

/** Looks after instances that are on their way: gives them to a cell, asks the cell, tells it what is to end. */
export async function keepLookingAfter(t: TopConductor): Promise<void> {
  while (!t.stopping.aborted) {
    await sleep(t.clock, t.config.syncIntervalMs / 2, t.stopping);
    if (t.stopping.aborted) return;
    await lookAfterDue(t).catch((err: unknown) =>
      t.log.warn({ event: 'due_not_looked_after', err }, 'could not look after what is due, retrying'),
    );
  }
}

async function lookAfterDue(t: TopConductor): Promise<void> {
  const due = await t.instances.takeDue(t.clock.now(), givingMs(t), MAX_DUE);
  const byRequest = new Map<string, Instance[]>();
  for (const record of due) byRequest.set(record.requestId, [...(byRequest.get(record.requestId) ?? []), record]);
  await Promise.all([...byRequest.values()].map((records) => lookAfter(t, records)));
}

/** Instances of one request; they are in one cell. */
async function lookAfter(t: TopConductor, records: readonly Instance[]): Promise<void> {
  const isInCell = ({ cell, state }: Instance) => cell?.isHandedOver || state !== 'scheduling';
  await giveToCell(
    t,
    records.filter((record) => !isInCell(record)),
  );
  const there = records.filter((record) => isInCell(record) && record.cell);
  const name = there[0]?.cell?.name;
  if (name === undefined) return;
  try {
    const unknown = await askCell(t, name, there);
    await Promise.all(unknown.map((record) => forgottenBy(t, record)));
    const ending = there.filter(({ cell }) => cell?.isEnding);
    await Promise.all(ending.filter((record) => !unknown.includes(record)).map((record) => endInCell(t, record)));
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const message = `cell ${name} does not answer (${error.message}); what is there goes on by itself`;
    await Promise.all(there.map((record) => noteFault(t, record, { reason: 'cell_unreachable', message })));
  }
}

/** Compares each cell with what the top knows when it comes back, and from time to time; publishes what others left. */
export async function keepComparing(t: TopConductor, holder: string): Promise<void> {
  const comparedAtMs = new Map<string, number>();
  while (!t.stopping.aborted) {
    try {
      const isKeeper = (await t.leases.acquire(KEEPER_LEASE, holder, LEASE_MS)) !== undefined;
      if (!isKeeper) comparedAtMs.clear();
      else {
        for (const [name, link] of t.links) {
          if (link.problem !== '') comparedAtMs.delete(name);
          else if (
            t.clock.elapsed() - (comparedAtMs.get(name) ?? Number.NEGATIVE_INFINITY) >=
            t.config.resyncIntervalMs
          ) {
            const isCompared = await compareCell(t, name).then(
              () => true,
              (err: unknown) => {
                t.log.warn(
                  { event: 'cell_not_compared', err, of_cell: name },
                  'could not ask a cell for its instances',
                );
                return false;
              },
            );
            if (isCompared) comparedAtMs.set(name, t.clock.elapsed());
          }
        }
        if (t.bus.isConnected()) {
          await t.instances.scanOutbox(t.config.syncIntervalMs, async (rows) => {
            await Promise.all(rows.map((versions) => publish(t, versions)));
          });
        }
        await t.instances.forget(t.clock.now() - t.config.retentionMs, MAX_FORGOTTEN);
      }
    } catch (err) {
      t.log.warn({ event: 'top_not_kept', err }, 'could not compare cells with the store, retrying');
    }
    await sleep(t.clock, t.config.syncIntervalMs, t.stopping);
  }
}
