import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { BerthError } from '#libs/domain/errors';
import { EXIT } from '#libs/runtime/exit-codes';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { table } from '../../views/table';

/** The outcome for one node's instance. */
interface Healed {
  readonly host: string;
  readonly instanceUuid: string;
  /** `healed`, `was healed`, or the reason of a failure. */
  readonly outcome: string;
  readonly isDone: boolean;
}

/** `berth node heal`: instances that hold nodes by processors, memory and disk hold the nodes' classes instead. */
export function healCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('heal')
    .description(
      'Let instances hold the resource class of their node instead of its processors, memory and disk. They run on.',
    )
    .argument('[nodes...]', 'nodes; all with an instance unless given')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, names) => {
    const isAsked = (host: string) => names.length === 0 || names.includes(host);
    const nodes = (await client.nodes()).filter(({ host, instanceUuid }) => instanceUuid !== '' && isAsked(host));
    const done: Healed[] = [];
    for (const { host, instanceUuid } of nodes) {
      const outcome = await client.healAllocation(instanceUuid).then(
        ({ changed }) => ({ outcome: changed ? 'healed' : 'was healed', isDone: true }),
        (thrown: unknown) => {
          const { reason, message } = BerthError.from(thrown);
          return { outcome: `${reason}: ${message}`, isDone: false };
        },
      );
      done.push({ host, instanceUuid, ...outcome });
    }
    if (json) terminal.json(done.map(({ isDone: _isDone, ...one }) => one));
    else
      terminal.print(
        table(
          terminal,
          ['NODE', 'INSTANCE', 'OUTCOME'],
          done.map((one) => [one.host, { uuid: one.instanceUuid }, one.outcome]),
        ),
      );
    if (done.some(({ isDone }) => !isDone)) context.exit(EXIT.failed);
  });
  return addHelp(
    command,
    [
      ['berth node heal', 'after BERTH_AGENT_NODE_OFFERS=both, and after flavors ask for the class'],
      ['berth node heal node-17 --json', 'one of them'],
    ],
    [[EXIT.failed, 'some could not be healed; what is done already is said so when it is run again']],
  );
}
