import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type DrainedFromCell, drainCell } from '#libs/client/drain/drain-cell';
import { EXIT } from '#libs/runtime/exit-codes';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { startProgress } from '../../views/progress';
import { table } from '../../views/table';
import { amount } from '../number-flags';

/** `berth cell drain`: nothing new comes to a cell, and what is there leaves. */
export function drainCellCommand(context: Context): CommandUnknownOpts {
  const command = new Command('drain')
    .description(
      'Give a cell no new builds, and move what is there to other cells: built anew there, without its disks.',
    )
    .argument('<cell>', 'cell')
    .option('--parallel <n>', 'so many instances at once', amount, 4)
    .option('--timeout <seconds>', 'how long one instance may take to go to a cell', amount, 600)
    .option('--no-move', 'leave what is there')
    .option('--reason <text>', 'for whoever asks later', '')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { parallel, timeout, move, reason, json }, cell) => {
    const { clock, terminal, interrupted: signal } = context;
    if (!move) {
      await client.setCellState(cell, 'draining', reason);
      return show(context, cell, [], json);
    }
    let progress: ReturnType<typeof startProgress> | undefined;
    let left = 0;
    const onProgress = (done: number, all: number, { stays }: DrainedFromCell) => {
      if (stays !== undefined) left++;
      progress ??= startProgress(terminal, clock, `draining cell ${cell}`, all);
      progress.show(done, () => (left === 0 ? '' : `${left} stay`));
    };
    const options = { cell, reason, parallel, timeoutMs: timeout * 1_000 };
    const drained = await drainCell({ client, signal, onProgress }, options);
    show(context, cell, drained, json);
    if (signal.aborted) context.exit(EXIT.interrupted);
    else if (drained.some(({ stays }) => stays !== undefined)) context.exit(EXIT.failed);
  });
  return addHelp(command, [
    ['berth cell drain b --reason "moves to another hall"', 'exit code 1 says that something stays'],
    ['berth cell drain b', 'again: goes on with what is still there'],
    ['berth cell drain b --no-move', 'no new builds; what runs there stays'],
    ['berth cell enable b', 'back in service; what has left stays where it is'],
  ]);
}

function show({ terminal }: Context, cell: string, drained: readonly DrainedFromCell[], json: boolean): void {
  const staying = drained.filter(({ stays }) => stays !== undefined);
  const moved = drained.filter(({ stays }) => stays === undefined);
  const plain = moved.map(({ uuid, cell: to, host }) => ({ uuid, cell: to, host }));
  if (json) return terminal.json({ cell, moved: plain, staying });
  terminal.print(`${moved.length} left cell ${cell}, ${staying.length} stay; it gets no new builds`);
  if (staying.length === 0) return;
  const rows = staying.map(({ uuid, name, state, stays = '' }) => [uuid, name, state, stays]);
  terminal.print(`\n${table(terminal, ['INSTANCE', 'NAME', 'STATE', 'WHY IT STAYS'], rows)}`);
}
