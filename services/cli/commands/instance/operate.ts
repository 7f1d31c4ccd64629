import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { InstanceOperation } from '#libs/contracts/operations';
import { nameOfState } from '#libs/domain/instance';
import { EXIT } from '#libs/runtime/exit-codes';
import { toEach } from '../../answers/to-each';
import { meantInstances, NAMED } from '../../client/meant';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { attemptSummary, showState } from '../../views/attempt-summary';
import { amount } from '../number-flags';

/** `berth instance stop`: it keeps its host and its claim there. */
export function stopCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Stop an instance. It stays on its host and keeps its claim.';
  return operateCommand(context, 'stop', purpose, 'stop one and see it stopped');
}

/** `berth instance start`: starts a stopped instance where it is. */
export function startCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Start a stopped instance on its host.';
  return operateCommand(context, 'start', purpose, 'start it again and see it run');
}

/** `berth instance evacuate`: builds it on another host when its own is dead. For operators. */
export function evacuateCommand(context: Context): CommandUnknownOpts {
  const purpose =
    'Build an instance on another host when its own is dead: its agent has lost its lease, and is fenced.';
  return operateCommand(context, 'evacuate', purpose, 'see it run elsewhere');
}

/** `berth instance shelve`: releases its host and its claim; its record is kept. */
export function shelveCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Remove an instance and its claim from its host; unshelve selects a host anew.';
  return operateCommand(context, 'shelve', purpose, 'see its host freed');
}

/** `berth instance unshelve`: builds it on a newly selected host. */
export function unshelveCommand(context: Context): CommandUnknownOpts {
  const purpose = 'Build a shelved instance on a newly selected host.';
  return operateCommand(context, 'unshelve', purpose, 'see it run again');
}

type PowerOperation = Extract<InstanceOperation, 'stop' | 'start' | 'evacuate' | 'shelve' | 'unshelve'>;

function operateCommand(
  context: Context,
  operation: PowerOperation,
  purpose: string,
  example: string,
): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command(operation)
    .description(purpose)
    .argument('<instance...>', NAMED)
    .option('--wait', 'wait until it is done', false)
    .option('--timeout <seconds>', 'time limit of --wait', amount, 120)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { wait, timeout, json }, named) => {
    const operate = async (uuid: string) => {
      const reached = wait
        ? await client.operateAndWait(uuid, operation, { timeoutMs: timeout * 1000 })
        : await client.operate(uuid, operation);
      return { ...reached, uuid };
    };
    await toEach(await meantInstances(client, named), operate, (done) => {
      if (json)
        terminal.json(
          done.map(({ uuid, state, fault }) => ({ uuid, state: nameOfState(state), fault: fault?.reason })),
        );
      else
        for (const one of done)
          terminal.print(`${one.uuid} is ${showState(terminal, one.state)}  ${attemptSummary(one)}`.trimEnd());
      if (wait && !done.every(({ state }) => WANTED[operation].includes(state))) context.exit(EXIT.failed);
    });
  });
  return addHelp(command, [[`berth instance ${operation} web-3 --wait`, example]]);
}

const WANTED: Readonly<Record<PowerOperation, readonly string[]>> = {
  stop: ['stopped'],
  start: ['active'],
  evacuate: ['active', 'stopped'],
  shelve: ['shelved_offloaded'],
  unshelve: ['active'],
};
