import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { spelled } from '#libs/client/nova-states';
import type { InstanceEvent } from '#libs/contracts/instance';
import { meantInstance, NAMED } from '../../client/meant';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { attemptSummary, showState } from '../../views/attempt-summary';
import { stateFlag } from '../flags/list-flags';
import { amount } from '../number-flags';

/** `berth events`: follows the events of instances. */
export function eventsCommand(context: Context): CommandUnknownOpts {
  const command = new Command('events')
    .addOption(stateFlag('only this state'))
    .option('--project <id>', 'only this project; for a tenant its own')
    .option('--instance <instance>', `only this: ${NAMED}`)
    .option('--count <n>', 'end after this many events', amount)
    .option('--json', 'print one JSON value per line', false);
  useClient(context, command, async (client, { state, project, instance, count, json }) => {
    const onListening = () => context.terminal.note('listening; Ctrl-C ends');
    const instanceUuid = instance && (await meantInstance(client, instance));
    const filter = { state, projectId: project, instanceUuid, onListening };
    let left = count ?? Number.POSITIVE_INFINITY;
    for await (const event of client.events(filter)) {
      show(context, json, event);
      left -= 1;
      if (left === 0) return;
    }
  });
  return addHelp(command, [
    ['berth events', 'everything that happens'],
    ['berth events --state ERROR --json', 'failures, for a program'],
  ]);
}

function show({ terminal }: Context, json: boolean, event: InstanceEvent): void {
  if (json) return terminal.json(spelled(event));
  const time = terminal.colours.dim(new Date(event.atMs).toISOString());
  const { instanceUuid, name, host } = event;
  const summary = event.state === 'error' ? attemptSummary(event) : '';
  terminal.print(
    `${time}  ${showState(terminal, event.state)}${' '.repeat(10 - event.state.length)}  ${instanceUuid}  ${name}  ${host}  ${summary}`.trimEnd(),
  );
}
