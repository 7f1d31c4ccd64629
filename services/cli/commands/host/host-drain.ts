import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type Drained, drainHost } from '#libs/client/drain/drain-host';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { divided, exitAfterDrain, showingDrain, showStaying } from '../../views/draining';
import { amount } from '../number-flags';

/** `berth host drain`: the host gets no new instances, and its present ones move away. */
export function drainCommand(context: Context): CommandUnknownOpts {
  const command = new Command('drain')
    .description('Give a host no new instances, and move away what is there: live where the driver can, else cold.')
    .argument('<host>', 'host')
    .option('--parallel <n>', 'so many instances at once', amount, 4)
    .option('--timeout <seconds>', 'how long one instance may take', amount, 600)
    .option('--reason <text>', 'for whoever asks later', 'drained')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { parallel, timeout, reason, json }, host) => {
    const { clock, interrupted: signal } = context;
    const options = { host, reason, parallel, timeoutMs: timeout * 1_000 };
    const drained = await showingDrain(context, `draining ${host}`, (onProgress) =>
      drainHost({ client, clock, signal, onProgress }, options),
    );
    showDrained(context, host, drained, json);
    exitAfterDrain(context, drained);
  });
  return addHelp(command, [
    ['berth host drain host-7 --parallel 8', 'before its disks are changed; exit code 1 says that something stays'],
    ['berth host drain host-7', 'again: goes on with what is still there'],
    ['berth host undrain host-7', 'back in service; what has left stays where it is'],
  ]);
}

/** `berth host undrain`: the host gets new instances again. */
export function undrainCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('undrain')
    .description('Let a host that was drained get new instances again.')
    .argument('<host>', 'host')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, name) => {
    const host = await client.setHostEnabled(name, true);
    if (json) terminal.json(host);
    else terminal.print(`${name} gets new instances again`);
  });
  return addHelp(command, [['berth host undrain host-7', 'back in service']]);
}

function showDrained(context: Context, host: string, drained: readonly Drained[], json: boolean): void {
  const { terminal } = context;
  const { moved, staying } = divided(drained);
  if (json) return terminal.json({ host, moved: moved.map(({ uuid, host: to }) => ({ uuid, host: to })), staying });
  terminal.print(`${moved.length} left ${host}, ${staying.length} staying; it gets no new instances`);
  showStaying(context, staying);
}
