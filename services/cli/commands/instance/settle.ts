import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { SettleDoubtRequest } from '#libs/contracts/doubts';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { oneMeant } from '../../client/meant';
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
    .argument('<instance>', 'its UUID, or the beginning of that')
    .requiredOption('--host <name>', 'where it runs')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { host, json }, named) => {
    const instanceUuid = await meantDoubt(client, named);
    await client.settleDoubt({ instanceUuid, host, action });
    if (json) terminal.json({ uuid: instanceUuid, host, action });
    else terminal.print(`${instanceUuid} ${done} on ${host}`);
  });
  const line = `berth instance ${action} 6f1f36c4 --host host-7`;
  return addHelp(command, [[line, example]]);
}

/** The instance of a doubt: it may have no record, and then only its host's reports know it. */
async function meantDoubt(client: Client, text: string): Promise<string> {
  if (isUuid(text.toLowerCase())) return text.toLowerCase();
  const { doubts } = await client.doubts();
  const lines = new Map(
    doubts.map(({ instanceUuid: uuid, host }) => [uuid, { uuid, name: '', line: `${uuid}  ${host}` }]),
  );
  const found = oneMeant('instance', text, [...lines.values()]);
  if (found !== undefined) return found.uuid;
  const details = { hint: "'berth audit' shows what is in doubt" };
  throw new BerthError('not_found', 'no_such_instance', `no instance in doubt begins with '${text}'`, { details });
}
