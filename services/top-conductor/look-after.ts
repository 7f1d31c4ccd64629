import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { groupBy } from '#libs/runtime/group-by';
import { doubtUnnamedCells, forgottenBy } from './cells/doubts';
import { endInCell } from './cells/end-in-cell';
import { askCell, compareCells } from './cells/follow-cells';
import type { TopConductor } from './context';
import { driveMove, settleLeft } from './moves/drive-move';
import { changeRecord, givingMs, isGiven, noted, publish, requestIn } from './records';
import { giveToCell } from './requests/give-to-cell';
import { settleReservations } from './requests/reservations';
import { owesGang, settleGang } from './requests/settle-gang';

/** The lease for comparing cells, emptying the outbox and forgetting old records. */
export const KEEPER_LEASE = 'top-keeper';
const LEASE_MS = 30_000;
/** Limit of the instances handled at once. */
const MAX_DUE = 500;
const MAX_FORGOTTEN = 1_000;

/** Handles due instances: assigns them to a cell, asks the cell, tells it to end them. */
export async function keepLookingAfter(t: TopConductor): Promise<void> {
  while (!t.stopping.aborted) {
    await sleep(t.clock, t.config.syncIntervalMs / 2, t.stopping);
    if (t.stopping.aborted) return;
    await lookAfterDue(t).catch((err: unknown) =>
      t.log.warn({ event: 'due_not_looked_after', err }, 'due instances not processed, retrying'),
    );
  }
}

async function lookAfterDue(t: TopConductor): Promise<void> {
  const due = await t.instances.takeDue(t.clock.now(), givingMs(t), MAX_DUE);
  const byRequest = groupBy(due, ({ requestId }) => requestId);
  await Promise.all([...byRequest.values()].map((records) => lookAfter(t, records)));
}

/** Instances of one request. */
async function lookAfter(t: TopConductor, records: readonly InstanceRow[]): Promise<void> {
  const owing = records.filter(owesGang);
  if (owing.length > 0) await settleGang(t, owing[0]?.requestId ?? '');
  const others = records.filter((record) => !owing.includes(record));
  await giveToCell(
    t,
    others.filter((record) => !isGiven(record)),
  );
  const given = others.filter((record) => isGiven(record) && record.cell !== undefined);
  const moving = given.filter(({ cell }) => cell?.move);
  const byRequest = groupBy(
    given.filter(({ cell }) => !cell?.move),
    (record) => `${record.cell?.name} ${requestIn(record)}`,
  );
  await Promise.all([
    ...moving.map(({ uuid }) => driveMove(t, uuid)),
    ...given.map((record) => settleLeft(t, record)),
    ...[...byRequest.values()].map((there) => lookAfterInCell(t, there[0]?.cell?.name ?? '', there)),
  ]);
}

async function lookAfterInCell(t: TopConductor, name: string, there: readonly InstanceRow[]): Promise<void> {
  try {
    const unknown = await askCell(t, name, there);
    await Promise.all(unknown.map((record) => forgottenBy(t, record)));
    const ending = there.filter(({ cell }) => cell?.isEnding);
    await Promise.all(ending.filter((record) => !unknown.includes(record)).map((record) => endInCell(t, record)));
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const message = `cell ${name} does not answer (${error.message}); what is there goes on by itself`;
    const fault = { reason: 'cell_unreachable', message };
    await Promise.all(there.map(({ uuid }) => changeRecord(t, uuid, (record) => noted(t, record, fault))));
  }
}

/**
 * Compares each cell with the top's records when it comes back, and at an interval; publishes versions left in the
 * outbox.
 */
export async function keepComparing(t: TopConductor, holder: string): Promise<void> {
  const comparedAtMs = new Map<string, number>();
  while (!t.stopping.aborted) {
    try {
      const isKeeper = (await t.leases.acquire(KEEPER_LEASE, holder, LEASE_MS)) !== undefined;
      if (isKeeper) await keep(t, comparedAtMs);
      else comparedAtMs.clear();
    } catch (err) {
      t.log.warn({ event: 'top_not_kept', err }, 'cells not compared with the store, retrying');
    }
    await sleep(t.clock, t.config.syncIntervalMs, t.stopping);
  }
}

/** Key in place of a cell's name for the last checks of unnamed cells' records, and of reservations. */
const UNNAMED = '';
const RESERVATIONS = '*';

async function keep(t: TopConductor, comparedAtMs: Map<string, number>): Promise<void> {
  const { resyncIntervalMs, reservationIntervalMs } = t.config;
  const isDue = (name: string, intervalMs = resyncIntervalMs) =>
    t.clock.elapsed() - (comparedAtMs.get(name) ?? Number.NEGATIVE_INFINITY) >= intervalMs;
  for (const [name, { problem }] of t.links) if (problem !== '') comparedAtMs.delete(name);
  const due = [...t.links].filter(([name, { problem }]) => problem === '' && isDue(name));
  const compared = await compareCells(
    t,
    due.map(([name]) => name),
  );
  for (const name of compared) comparedAtMs.set(name, t.clock.elapsed());
  if (isDue(UNNAMED)) {
    await doubtUnnamedCells(t);
    comparedAtMs.set(UNNAMED, t.clock.elapsed());
  }
  if (isDue(RESERVATIONS, reservationIntervalMs)) {
    await settleReservations(t, t.clock.now() - reservationIntervalMs);
    comparedAtMs.set(RESERVATIONS, t.clock.elapsed());
  }
  if (t.bus.isConnected()) {
    await t.instances.scanOutbox(t.config.syncIntervalMs, async (rows) => {
      await Promise.all(rows.map((versions) => publish(t, versions)));
    });
  }
  await t.instances.forget(t.clock.now() - t.config.retentionMs, MAX_FORGOTTEN);
}
