import type { Command } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { SettleDoubtRequest } from '#libs/contracts/doubts';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { changes } from '../../answers/declared';
import { oneMeant } from '../../client/meant';

/** `berth instance adopt`: makes a record for an instance that runs without one, on an operator's word. */
export const adoptCommand = settleCommand('adopt', {
  purpose: 'Create a record for an instance that runs on a host without one, and claim its resources.',
  done: 'is adopted',
  example: 'it is ours after all',
});

/**
 * `berth instance destroy`: destroys an instance that runs where its record, if any, does not place it, on an
 * operator's word.
 */
export const destroyCommand = settleCommand('destroy', {
  purpose: 'Destroy an instance on a host where its record does not place it; otherwise use terminate.',
  done: 'will be destroyed',
  example: 'nobody wants it there',
});

function settleCommand(
  action: SettleDoubtRequest['action'],
  { purpose, done, example }: { readonly purpose: string; readonly done: string; readonly example: string },
) {
  return changes({
    name: action,
    does: `${purpose} 'berth audit' shows them.`,
    takes: (command: Command) =>
      command
        .argument('<instance>', 'its UUID, or the beginning of that')
        .requiredOption('--host <name>', 'the host that runs it'),
    async call(client, { host }, named) {
      const instanceUuid = await meantDoubt(client, named);
      await client.settleDoubt({ instanceUuid, host, action });
      return { uuid: instanceUuid, host, action };
    },
    print: ({ terminal }, { uuid, host }) => terminal.print(`${uuid} ${done} on ${host}`),
    examples: [[`berth instance ${action} 6f1f36c4 --host host-7`, example]],
  });
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
