import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { BerthError } from '#libs/domain/errors';
import { requireUuid } from '#libs/domain/names';
import { watchInstances } from '../../client/instance-watch';
import { useBus } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { amount } from '../number-flags';

/** `berth terminate`, also `berth instance delete`. */
export function terminateCommand(context: Context, name: 'terminate' | 'delete'): CommandUnknownOpts {
  const { terminal, interrupted } = context;
  const command = new Command(name)
    .description('Destroy instances and give back what they hold.')
    .argument('<uuid...>', 'instances', addUuid)
    .option('--wait', 'wait until each is gone', false)
    .option('--timeout <seconds>', 'how long --wait waits', amount, 120)
    .option('--json', 'print one JSON value', false);
  useBus(context, command, async (client, { wait, timeout, json }, uuids) => {
    const known = await Promise.all(uuids.map((instanceUuid) => client.instances({ instanceUuid }, 1)));
    const missing = uuids.filter((_, i) => known[i]?.length === 0);
    if (missing.length > 0) throw noSuchInstance(missing.join(', '));
    const watch = await watchInstances(client);
    interrupted.addEventListener('abort', () => void watch.close(), { once: true });
    try {
      const living = uuids.filter((_, i) => known[i]?.[0]?.state !== 'deleted');
      const gone = wait ? living.map((uuid) => watch.until(uuid, ['deleted'], { timeoutMs: timeout * 1000 })) : [];
      await Promise.all([...gone, ...living.map((uuid) => client.terminate(uuid))]);
    } finally {
      await watch.close();
    }
    if (json) terminal.json(uuids.map((uuid) => ({ uuid, state: wait ? 'deleted' : 'deleting' })));
    else for (const uuid of uuids) terminal.print(`${uuid} ${wait ? 'is deleted' : 'will be deleted'}`);
  });
  const line = name === 'delete' ? 'berth instance delete' : 'berth terminate';
  return addHelp(command, [[`${line} 6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11 --wait`, 'destroy one and see it gone']]);
}

function addUuid(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, requireUuid(text, 'uuid')];
}

/** The error for an instance, or several, that Berth does not know. */
export function noSuchInstance(uuid: string): BerthError {
  return new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
}
