import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { SettleDoubtRequest } from '#libs/contracts/doubts';
import { requireUuid } from '#libs/domain/names';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';

/** `berth instance adopt`: makes a record for an instance that runs without one, on an operator's word. */
export function adoptCommand(context: Context): CommandUnknownOpts {
  return settleCommand(context, 'adopt', {
    purpose: 'Take over an instance that runs on a host and has no record: make one, and claim what it uses.',
    done: 'is adopted',
    example: 'it is ours after all',
  });
}

/**
 * `berth instance destroy`: destroys an instance that runs where its record, if any, does not place it, on an
 * operator's word.
 */
export function destroyCommand(context: Context): CommandUnknownOpts {
  return settleCommand(context, 'destroy', {
    purpose: 'Destroy an instance on a host where no record has it. One that has its record there is for terminate.',
    done: 'will be destroyed',
    example: 'nobody wants it there',
  });
}

function settleCommand(
  context: Context,
  action: SettleDoubtRequest['action'],
  { purpose, done, example }: { readonly purpose: string; readonly done: string; readonly example: string },
): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command(action)
    .description(`${purpose} 'berth audit' shows them.`)
    .argument('<uuid>', 'instance', (text) => requireUuid(text, 'uuid'))
    .requiredOption('--host <name>', 'where it runs')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { host, json }, instanceUuid) => {
    await client.settleDoubt({ instanceUuid, host, action });
    if (json) terminal.json({ uuid: instanceUuid, host, action });
    else terminal.print(`${instanceUuid} ${done} on ${host}`);
  });
  const line = `berth instance ${action} 6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11 --host host-7`;
  return addHelp(command, [[line, example]]);
}
