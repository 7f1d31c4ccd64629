import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { drainHost } from '#libs/client/drain/drain-host';
import { type DrainedHost, drainHosts } from '#libs/client/drain/drain-hosts';
import { toEach } from '../../answers/to-each';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { divided, exitAfterDrain, movedOff, showingDrain, showStaying } from '../../views/draining';
import { amount } from '../number-flags';

/** `berth host drain`: the host gets no new instances, and its present ones move away. */
export function drainCommand(context: Context): CommandUnknownOpts {
  const command = new Command('drain')
    .description('Block new instances on hosts and move their instances away, live where the driver can, else cold.')
    .argument('<host...>', "hosts, drained one after the other; none of them takes another's instances")
    .option('--parallel <n>', 'instances to move at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one instance', amount, 600)
    .option('--reason <text>', 'the reason, shown with the host', 'drained')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { parallel, timeout, reason, json }, hosts) => {
    const { clock, interrupted: signal } = context;
    const all: DrainedHost[] = [];
    const drain = (host: string) => {
      const options = { host, reason, parallel, timeoutMs: timeout * 1_000 };
      return showingDrain(context, `draining ${host}`, (onProgress) =>
        drainHost({ client, clock, signal, onProgress }, options),
      );
    };
    for await (const one of drainHosts(client, { hosts, reason, signal }, drain)) {
      all.push(one);
      if (!json) showDrained(context, one);
    }
    if (json) context.terminal.json(all.map(plainOf));
    exitAfterDrain(
      context,
      all.flatMap(({ drained }) => drained),
    );
  });
  return addHelp(command, [
    ['berth host drain host-7 --parallel 8', 'before its disks are changed; exit code 1 says that something stays'],
    ['berth host drain host-7 host-8', 'two; again: goes on with what is still there'],
    ['berth host undrain host-7', 'back in service; what has left stays where it is'],
  ]);
}

/** `berth host undrain`: the host gets new instances again. */
export function undrainCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('undrain')
    .description('Let drained hosts get new instances again.')
    .argument('<host...>', 'hosts')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, (client, { json }, names) =>
    toEach(
      names,
      (name) => client.setHostEnabled(name, true),
      (hosts) => {
        if (json) terminal.json(hosts);
        else for (const { host } of hosts) terminal.print(`${host} gets new instances again`);
      },
    ),
  );
  return addHelp(command, [['berth host undrain host-7', 'back in service']]);
}

function plainOf({ host, drained }: DrainedHost) {
  const { moved, staying } = divided(drained);
  return { host, moved: moved.map(({ uuid, host: to }) => ({ uuid, host: to })), staying };
}

function showDrained(context: Context, { host, drained }: DrainedHost): void {
  context.terminal.print(`${movedOff(host, drained)} New instances are blocked.`);
  showStaying(context, divided(drained).staying);
}
