import { callMethod } from '#libs/bus/typed-calls';
import { type CellView, listCellsMethod } from '#libs/contracts/cell-methods';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { MAX_ZONES } from '#libs/domain/cells/cell-summary';
import { cellRequestOf } from '#libs/domain/cells/rank-cells';
import { zonesFor } from '#libs/domain/cells/spread-zones';
import { BerthError } from '#libs/domain/errors';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { InstanceRow } from '#libs/domain/instance';
import { isOverZones } from '#libs/domain/server-group';
import type { TopConductor } from '../context';
import { groupOf, type Reserved, reserve } from './reservations';

const CALL_TIMEOUT_MS = 5_000;

/**
 * Reserves for an instance that is unshelved in its former cell, and zone. `elsewhere` when it would make its group
 * uneven there: others have come to its zone meanwhile.
 *
 * @throws BerthError `unavailable` while no scheduler of the top answers; `failed_precondition / no_such_zone` when its
 *   cell has lost that zone: without instances, a zone may be renamed.
 */
export async function reserveAgain(t: TopConductor, record: InstanceRow): Promise<Reserved> {
  const { cell } = record;
  if (cell?.zone === undefined || !isOverZones(groupOf(record))) return reserve(t, [record]);
  const { name, zone } = cell;
  const cells = await cellsOfFleet(t);
  const { zones } = cells.find((one) => one.name === name)?.summary ?? {};
  if (zones && zones.length < MAX_ZONES && !zones.includes(zone)) {
    const message = `cell ${name} has no zone ${zone} any more: it is gone, or has another name`;
    throw new BerthError('failed_precondition', 'no_such_zone', message);
  }
  const among = zonesIn(cells, record);
  return reserve(t, [record], () => ({ ...cell, among }));
}

/** The zones that a group is balanced over, from the cells' present summaries. @throws BerthError `unavailable`. */
export async function zonesOpenTo(t: TopConductor, record: InstanceRow): Promise<readonly string[]> {
  return zonesIn(await cellsOfFleet(t), record);
}

function zonesIn(cells: readonly CellView[], { requestSpec }: InstanceRow): readonly string[] {
  const spec = resolveSpec(requestSpecCodec.decode(requestSpec), 'request_spec');
  return zonesFor(cellRequestOf(spec), cells);
}

async function cellsOfFleet(t: TopConductor): Promise<readonly CellView[]> {
  const options = { timeoutMs: CALL_TIMEOUT_MS, signal: t.stopping };
  return (await callMethod({ bus: t.bus, queue: RPC_SCHEDULER }, listCellsMethod, { cell: '' }, options)).cells;
}
