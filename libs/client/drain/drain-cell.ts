import type { CellView } from '../../contracts/cell-methods';
import type { InstanceView } from '../../contracts/messages';
import { BerthError } from '../../domain/errors';
import type { InstanceState } from '../../domain/instance';
import { mapConcurrently } from '../../runtime/concurrent';
import type { Client } from '../client';
import type { Drained } from './drain-host';

export interface DrainCellOptions {
  readonly cell: string;
  readonly reason: string;
  /** Instances that are moved at once. */
  readonly parallel: number;
  /** How long one instance may take to go to one cell. */
  readonly timeoutMs: number;
}

export interface DrainCellParts {
  /** Of the top. */
  readonly client: Pick<Client, 'setCellState' | 'cells' | 'instances' | 'instance' | 'operateAndWait'>;
  readonly signal: AbortSignal;
  /** After each instance that has left, or stays. */
  readonly onProgress: (done: number, all: number, what: DrainedFromCell) => void;
}

/** How it went with one instance. */
export interface DrainedFromCell extends Drained {
  /** Where it is now. */
  readonly cell: string;
}

/**
 * Gives a cell no new instances, and moves what is there to other cells: cold, each built anew, to the cell with the most room first, and
 * to the next when that refuses. It keeps nothing of its own: the cell is draining, and what is left is what is still there, so that a
 * drain which was interrupted, or left something, is begun again.
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
  // Once more for what was on its way to the cell when it began to drain.
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

/** What one cell says, and another may not. */
const TRIES_NEXT: readonly string[] = ['no_valid_host', 'not_arrived', 'still_on_record', 'group_is_uneven'];

/** Cells that take instances, most free processors first. */
function roomiest(cells: readonly CellView[], without: string): string[] {
  const free = ({ summary }: CellView) =>
    summary?.classes.reduce((sum, one) => sum + (one.free['VCPU']?.total ?? 0), 0) ?? 0;
  const open = cells.filter(({ name, state, isReachable }) => name !== without && state === 'enabled' && isReachable);
  return open.sort((a, b) => free(b) - free(a)).map(({ name }) => name);
}
