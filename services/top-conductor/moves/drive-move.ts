import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import type { InstanceOperation } from '#libs/contracts/operations';
import { operateInstanceMethod } from '#libs/contracts/operations';
import { BUILD_REQUESTS, RPC_CONDUCTOR, RPC_SCHEDULER } from '#libs/contracts/queues';
import { type Destination, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { type CellMove, type CellOfInstance, type InstanceRow, timeLeftOf } from '#libs/domain/instance';
import { isOverZones } from '#libs/domain/server-group';
import { busOfCell } from '../cells/bus-of-cell';
import { endIn } from '../cells/end-in-cell';
import { askOne, viewIn } from '../cells/follow-cells';
import type { TopConductor } from '../context';
import { changeRecord, dueIn, noted } from '../records';
import { groupOf, reserveAsOnRecord } from '../requests/reservations';
import { specForMove } from '../requests/spec-for-cell';
import { arriveInZone, GROUP_IS_UNEVEN, keepPlace } from './arrive-in-zone';
import { changeMove } from './change-move';

const CALL_TIMEOUT_MS = 10_000;

/**
 * Continues an instance's move to another cell from its record; runs again when it is due, as after a cell's report.
 *
 *     selecting ──▶ stopping ──▶ building ──▶ ACTIVE (or STOPPED, as it was) in the other cell; the first one ends what it has
 *         │             └────────────┴──▶ undoing ──▶ as it was
 *         └─▶ as it was: nothing was done
 *
 * The naive way ends it in one cell and builds it in the other. It fails when the other cell can not: then it is
 * nowhere. So hosts are claimed there first, it is stopped only then, and the first cell keeps it until it is ACTIVE in
 * the other. An undo waits for the other cell to confirm that it has no copy, so that it does not run twice; while that
 * cell is silent it stays stopped, with a fault. If a build request was on its way all the same, its first event
 * (`left`) leads to its end there. The cost: disks are not carried, the instance is built from its request; and it does
 * not run meanwhile. A member of a group that spreads over zones goes to a zone of the other cell, which is chosen
 * first, and is counted there when it has arrived (`arriveInZone`).
 */
export async function driveMove(t: TopConductor, uuid: string): Promise<void> {
  try {
    // A move has four phases; each answered call may complete one.
    for (let steps = 0; steps < 8; steps++) {
      const [record] = await t.instances.get([uuid]);
      if (record?.cell?.move === undefined || t.stopping.aborted) return;
      if (!(await step(t, record, record.cell, record.cell.move))) return;
    }
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    t.log.warn({ event: 'cell_move_delayed', err: thrown, instance_uuid: uuid }, message);
    await changeRecord(t, uuid, (record) => noted(t, record, { reason, message })).catch(() => {});
  }
}

/** Returns true if there may be more to do now. */
async function step(t: TopConductor, record: InstanceRow, cell: CellOfInstance, move: CellMove): Promise<boolean> {
  const isLate = t.clock.now() - move.startedAtMs > t.config.moveTimeoutMs;
  const timedOut = { reason: 'move_timed_out', message: `not ACTIVE in cell ${move.to} in time` };
  switch (move.phase) {
    case 'selecting': {
      // Nothing has changed yet: a silent cell must not block other operations on it.
      if (isLate) return endMove(t, record, timedOut);
      // Its uuid is taken there as long as the cell remembers an earlier copy.
      if (await viewIn(t, move.to, record.uuid)) return endMove(t, record, remembered(move));
      const { destinations, fault } = await selectThere(t, record, move);
      const [destination] = destinations;
      if (destination === undefined) return endMove(t, record, fault);
      return changeMove(t, record, { phase: 'stopping', zone: destination.zone });
    }
    case 'stopping':
      if (move.source === 'stopped') return changeMove(t, record, { phase: 'building' });
      if (isLate || !ON_ITS_WAY.includes(move.source)) {
        return changeMove(t, record, { phase: 'undoing', fault: isLate ? timedOut : sourceChanged(cell, move) });
      }
      return operateIn(t, cell.name, record, 'stop');
    case 'building':
      if (move.zone !== undefined && move.target === 'stopped') {
        const there = await viewIn(t, move.to, record.uuid);
        if (there?.state === 'stopped') return arriveInZone(t, record, there);
      }
      if (isLate) return changeMove(t, record, { phase: 'undoing', fault: timedOut });
      if (move.target === 'error' || move.target === 'deleted') {
        const message = `cell ${move.to} could not build it: it is ${move.target} there`;
        return changeMove(t, record, { phase: 'undoing', fault: { reason: 'not_arrived', message } });
      }
      if (move.staysStopped && move.target === 'active') return operateIn(t, move.to, record, 'stop');
      return move.isHandedOver ? lookThere(t, record, move) : buildThere(t, record, move);
    case 'undoing':
      return undo(t, record, cell, move);
  }
}

function remembered({ to }: CellMove) {
  const message = `cell ${to} has it on record from before, and takes it again when it has forgotten that`;
  return { reason: 'still_on_record', message };
}

const ON_ITS_WAY: readonly CellMove['source'][] = ['active', 'stopping'];

function sourceChanged({ name }: CellOfInstance, { source }: CellMove) {
  return { reason: 'instance_state', message: `it is ${source} in cell ${name}: it was not moved` };
}

/** A repeated selection gets the same answer: the claim has no record there yet. */
async function selectThere(t: TopConductor, row: InstanceRow, { id, to, zone }: CellMove) {
  const { uuid, requestSpec, admission } = row;
  const choosesZone = zone === undefined && isOverZones(groupOf({ requestSpec }));
  const about = {
    requestId: id,
    requestSpec: specForMove(requestSpec, zone),
    instanceUuids: [uuid],
    cell: to,
    choosesZone,
  };
  const admitted = { priority: admission?.priority ?? 0, isProtected: admission?.isProtected ?? false };
  const timeLimitMs = timeLeftOf(row, t.clock.now());
  const request = { ...about, ...admitted, numAlternates: t.config.numAlternates, timeLimitMs };
  const options = { timeoutMs: t.config.selectTimeoutMs, signal: t.stopping };
  const response = await callMethod({ bus: t.bus, queue: RPC_SCHEDULER }, selectDestinationsMethod, request, options);
  const message = response.noValidHost?.summary ?? `cell ${to} does not take it`;
  const isUneven = response.noValidHost?.filters.some(({ filter }) => filter === 'cell_spread') ?? false;
  return {
    destinations: response.destinations,
    fault: { reason: isUneven ? GROUP_IS_UNEVEN : 'no_valid_host', message },
  };
}

/** Returns true if the move has progressed. */
async function operateIn(
  t: TopConductor,
  cell: string,
  { uuid: instanceUuid, version }: InstanceRow,
  operation: InstanceOperation,
): Promise<boolean> {
  const request = { instanceUuid, operation, version: 0 };
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal: t.stopping };
  await callMethod({ bus: busOfCell(t, cell), queue: RPC_CONDUCTOR }, operateInstanceMethod, request, options);
  await askOne(t, cell, instanceUuid);
  const [now] = await t.instances.get([instanceUuid]);
  return now?.version !== version;
}

/**
 * First records that the cell may have the instance, so that an undo ends it there. A failed selection after an earlier
 * handover proves nothing: the cell may be building, and its own claim may use the capacity. The move then waits for
 * the cell's report, with a fault, or times out.
 */
async function buildThere(t: TopConductor, record: InstanceRow, move: CellMove): Promise<boolean> {
  const { destinations, fault } = await selectThere(t, record, move);
  if (destinations.length === 0) {
    if (!move.isHandedOver) return changeMove(t, record, { phase: 'undoing', fault });
    // It may have arrived meanwhile.
    await changeRecord(t, record.uuid, (now) => (now.version === record.version ? noted(t, now, fault) : undefined));
    return false;
  }
  if (!(await changeMove(t, record, { isHandedOver: true }))) return true;
  await castTyped(
    { bus: busOfCell(t, move.to), queue: BUILD_REQUESTS },
    buildRequestCodec,
    requestOf(t, record, move, destinations),
    {
      id: move.id,
    },
  );
  return false;
}

function requestOf(t: TopConductor, record: InstanceRow, { id, zone }: CellMove, destinations: readonly Destination[]) {
  const { uuid, name, requestSpec, admission } = record;
  const about = { requestId: id, requestSpec: specForMove(requestSpec, zone), count: 1, name, instanceUuids: [uuid] };
  return { ...about, publishedAtMs: t.clock.now(), minCount: 0, admission, destinations };
}

/** An instance that was handed over and never known there is handed over again. */
async function lookThere(t: TopConductor, record: InstanceRow, move: CellMove): Promise<boolean> {
  const isKnown = await askOne(t, move.to, record.uuid);
  return !isKnown && move.version === 0 && buildThere(t, record, move);
}

async function undo(t: TopConductor, record: InstanceRow, cell: CellOfInstance, move: CellMove): Promise<boolean> {
  if (move.zone !== undefined && !move.isKept && !cell.isEnding) return keepPlace(t, record);
  if (move.isHandedOver && move.target !== 'deleted') {
    await endIn(t, move.to, record);
    if (await askOne(t, move.to, record.uuid)) return false;
    if (move.target === undefined || cell.isEnding) return changeMove(t, record, { target: 'deleted' });
    return doubtTarget(t, record, move);
  }
  const isToStart = move.source === 'stopped' && !move.staysStopped;
  if (!cell.isEnding && isToStart) return operateIn(t, cell.name, record, 'start');
  if (!cell.isEnding && (move.source === 'stopping' || move.source === 'starting')) {
    await askOne(t, cell.name, record.uuid);
    return false;
  }
  return endMove(t, record, move.fault);
}

/**
 * The other cell reported it once, and does not know it any more. Unless it reported the deletion, its store may have
 * been wiped, with the instance still running: it stays stopped at its source until that cell reports it, with any
 * version, or somebody ends it.
 */
async function doubtTarget(t: TopConductor, { uuid, version }: InstanceRow, { to }: CellMove): Promise<false> {
  await changeRecord(t, uuid, (record) => {
    const { cell } = record;
    // A report meanwhile takes precedence.
    if (record.version !== version || cell?.move === undefined) return undefined;
    const isSaid = cell.move.target === 'unknown' && cell.move.version === 0;
    if (isSaid) return undefined;
    const message = `cell ${to} had it and does not know it any more: it may run there, and is not started in cell ${cell.name}`;
    const move = { ...cell.move, target: 'unknown', version: 0 } as const;
    const dueAtMs = t.clock.now() + t.config.syncIntervalMs;
    return { cell: { ...cell, move }, fault: { reason: 'forgotten_by_cell', message }, dueAtMs };
  });
  return false;
}

/** It stays in its old cell, in its state there. */
async function endMove(t: TopConductor, { uuid, version }: InstanceRow, fault: InstanceRow['fault']): Promise<false> {
  await changeRecord(t, uuid, (record) => {
    if (record.version !== version || record.cell?.move === undefined) return undefined;
    const { move, ...cell } = record.cell;
    const left = move.isHandedOver ? { left: { name: move.to, isGone: true } } : {};
    const state = cell.isEnding && move.source !== 'deleted' ? 'deleting' : move.source;
    return { state, fault, cell: { ...cell, ...left }, dueAtMs: dueIn(t, state, cell.isEnding) };
  });
  t.log.info({ event: 'cell_move_undone', instance_uuid: uuid, reason: fault?.reason }, 'move to another cell undone');
  return false;
}

/** Ends the copy in the cell that it came from, until that cell confirms it gone. */
export async function settleLeft(t: TopConductor, record: InstanceRow): Promise<void> {
  const { left } = record.cell ?? {};
  if (left === undefined || left.isGone) return;
  try {
    await reserveAsOnRecord(t, [record.uuid]);
    await endIn(t, left.name, record);
    if (await askOne(t, left.name, record.uuid)) return;
    await changeRecord(t, record.uuid, ({ cell }) => {
      if (cell?.left?.name !== left.name || cell.left.isGone) return undefined;
      return { cell: { ...cell, left: { ...left, isGone: true } }, dueAtMs: t.clock.now() };
    });
  } catch (thrown) {
    const message = `what it left in cell ${left.name} is not ended yet: ${BerthError.from(thrown).message}`;
    await changeRecord(t, record.uuid, (now) => noted(t, now, { reason: 'cell_unreachable', message }));
  }
}
