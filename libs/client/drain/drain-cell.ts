import type { CellView } from '../../contracts/cell-methods';
import type { InstanceView } from '../../contracts/instance';
import { BerthError } from '../../domain/errors';
import type { InstanceState } from '../../domain/instance';
import { mapConcurrently } from '../../runtime/concurrent';
import type { Client } from '../client';
import type { Drained } from './drain-host';

export interface DrainCellOptions {
  readonly cell: string;
  readonly reason: string;
  /** Limit of the instances moved at once. */
  readonly parallel: number;
  /** Time limit for moving one instance to one cell. */
  readonly timeoutMs: number;
}

export interface DrainCellParts {
  /** A client of the top. */
  readonly client: Pick<Client, 'setCellState' | 'cells' | 'instances' | 'instance' | 'operateAndWait'>;
  readonly signal: AbortSignal;
  /** Called after each instance that has left, or stays. */
  readonly onProgress: (done: number, all: number, what: DrainedFromCell) => void;
}

/** The outcome for one instance. */
export interface DrainedFromCell extends Drained {
  /** Its present cell. */
  readonly cell: string;
}

/**
 * Gives a cell no new instances, and moves its instances to other cells by cold migration, which builds each anew:
 * first to the cell with the most free capacity, after a refusal to the next. It stores nothing: the cell is draining,
 * and the instances still there are the remaining work, so an interrupted or incomplete drain is just started again.
 *
 * @throws BerthError `not_found / no_such_cell`, `unavailable`; the cell stays draining.
 */
export async function drainCell(parts: DrainCellParts, options: DrainCellOptions): Promise<DrainedFromCell[]> {
  const { client, signal, onProgress } = parts;
  const { cell, reason, parallel } = options;
  await client.setCellState(cell, 'draining', reason);
  const seen = new Set<string>();
  const all: DrainedFromCell[] = [];
  const drain = async (instance: InstanceView) => {
    const drained = await drainOne(parts, options, instance);
    all.push(drained);
    onProgress(all.length, seen.size, drained);
  };
  // A second pass for instances that were on their way to the cell when the drain began.
  while (!signal.aborted) {
    const there = (await client.instances()).filter((one) => one.cell === cell && !ENDED.includes(one.state));
    const more = there.filter(({ uuid }) => !seen.has(uuid));
    if (more.length === 0) break;
    for (const { uuid } of more) seen.add(uuid);
    await mapConcurrently(more, parallel, drain, signal);
  }
  return all;
}

const ENDED: readonly InstanceState[] = ['error', 'deleting', 'deleted'];

async function drainOne(
  { client, signal }: DrainCellParts,
  { cell, timeoutMs }: DrainCellOptions,
  { uuid, name }: InstanceView,
): Promise<DrainedFromCell> {
  let stays = 'no other cell takes instances';
  for (const targetCell of roomiest(await client.cells(), cell)) {
    if (signal.aborted) break;
    try {
      await client.operateAndWait(uuid, 'migrate', { targetCell, timeoutMs });
    } catch (thrown) {
      const { reason, message } = BerthError.from(thrown);
      stays = `${reason}: ${message}`;
      break;
    }
    const { fault } = await client.instance(uuid);
    if (fault === undefined) break;
    stays = `${fault.reason}: ${fault.message}`;
    if (!TRIES_NEXT.includes(fault.reason)) break;
  }
  const now = await client.instance(uuid);
  const hasLeft = now.cell !== cell || ENDED.includes(now.state);
  const { host, state } = now;
  return { uuid, name, host, state, cell: now.cell ?? '', stays: hasLeft ? undefined : stays };
}

/** Refusals of one cell that another may not share. */
const TRIES_NEXT: readonly string[] = ['no_valid_host', 'not_arrived', 'still_on_record', 'group_is_uneven'];

/** Cells that take instances, those with the most free processors first. */
function roomiest(cells: readonly CellView[], without: string): string[] {
  const free = ({ summary }: CellView) =>
    summary?.classes.reduce((sum, one) => sum + (one.free['VCPU']?.total ?? 0), 0) ?? 0;
  const open = cells.filter(({ name, state, isReachable }) => name !== without && state === 'enabled' && isReachable);
  return open.sort((a, b) => free(b) - free(a)).map(({ name }) => name);
}
