import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { noSuchInstance } from '#libs/client/client';
import { meantInstances, NAMED } from '../../client/meant';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { amount } from '../number-flags';

/** `berth terminate`, also `berth instance delete`. */
export function terminateCommand(context: Context, name: 'terminate' | 'delete'): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command(name)
    .argument('<instance...>', NAMED)
    .option('--wait', 'wait until each is gone', false)
    .option('--timeout <seconds>', 'time limit of --wait', amount, 120)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { wait, timeout, json }, named) => {
    const uuids = await meantInstances(client, named);
    const found = await Promise.all(uuids.map((instanceUuid) => client.instances({ instanceUuid }, 1)));
    const missing = uuids.filter((_, i) => found[i]?.length === 0);
    if (missing.length > 0) throw noSuchInstance(missing.join(', '));
    const living = found.flat().filter(({ state }) => state !== 'deleted');
    const timeoutMs = timeout * 1000;
    await Promise.all(
      living.map(({ uuid }) => (wait ? client.terminateAndWait(uuid, { timeoutMs }) : client.terminate(uuid))),
    );
    if (json) terminal.json(uuids.map((uuid) => ({ uuid, state: wait ? 'DELETED' : 'DELETING' })));
    else for (const uuid of uuids) terminal.print(`${uuid} ${wait ? 'is deleted' : 'will be deleted'}`);
  });
  const line = name === 'delete' ? 'berth instance delete' : 'berth terminate';
  return addHelp(command, [
    [`${line} web-3 --wait`, 'destroy one and see it gone'],
    [`${line} 6f1f36c4 0d2f0a4b`, 'two, by the beginnings of their UUIDs'],
  ]);
}
