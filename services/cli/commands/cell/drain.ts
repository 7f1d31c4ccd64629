import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type DrainedFromCell, drainCell } from '#libs/client/drain/drain-cell';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { divided, exitAfterDrain, movedOff, showingDrain, showStaying } from '../../views/draining';
import { amount } from '../number-flags';

/** `berth cell drain`: the cell gets no new instances, and its present ones move away. */
export function drainCellCommand(context: Context): CommandUnknownOpts {
  const command = new Command('drain')
    .description(
      'Block new builds in a cell and move its instances to other cells: built anew there, without their disks.',
    )
    .argument('<cell>', 'cell')
    .option('--parallel <n>', 'instances to move at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for moving one instance to a cell', amount, 600)
    .option('--no-move', 'leave its instances where they are')
    .option('--reason <text>', 'the reason, for other operators', '')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { parallel, timeout, move, reason, json }, cell) => {
    if (!move) {
      await client.setCellState(cell, 'draining', reason);
      return show(context, cell, [], json);
    }
    const options = { cell, reason, parallel, timeoutMs: timeout * 1_000 };
    const drained = await showingDrain(context, `draining cell ${cell}`, (onProgress) =>
      drainCell({ client, signal: context.interrupted, onProgress }, options),
    );
    show(context, cell, drained, json);
    exitAfterDrain(context, drained);
  });
  return addHelp(command, [
    ['berth cell drain b --reason "moves to another hall"', 'exit code 1 says that something stays'],
    ['berth cell drain b', 'again: goes on with what is still there'],
    ['berth cell drain b --no-move', 'no new builds; running instances stay'],
    ['berth cell enable b', 'back in service; what has left stays where it is'],
  ]);
}

function show(context: Context, cell: string, drained: readonly DrainedFromCell[], json: boolean): void {
  const { terminal } = context;
  const { moved, staying } = divided(drained);
  const plain = moved.map(({ uuid, cell: to, host }) => ({ uuid, cell: to, host }));
  if (json) return terminal.json({ cell, moved: plain, staying });
  terminal.print(`${movedOff(`cell ${cell}`, drained)} New builds are blocked.`);
  showStaying(context, staying);
}
