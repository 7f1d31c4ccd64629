import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { InstanceView } from '#libs/contracts/instance';
import { type CapacityWanted, capacityWanted, shapesOf } from '#libs/domain/queueing/capacity-wanted';
import { shapeOfHost } from '#libs/fleet-settings/host-shapes';
import { counted } from '#libs/runtime/counted';
import { answerCommand, showAnswer } from '../../answers/answer';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** Instances that are looked at: an autoscaler asks again. */
const MOST_WAITING = 10_000;

/** `berth capacity wanted` */
export function capacityCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('wanted').description(
    'Estimate how many more hosts, of the present shapes, would serve instances that wait for capacity. For operators.',
  );
  useClient(context, command, (client, flags) =>
    showAnswer(context, flags, async () => {
      const [waiting, hosts] = await Promise.all([
        client.instances({ state: 'pending' }, MOST_WAITING),
        client.hosts(),
      ]);
      const wanted = capacityWanted(waiting.map(waitingOf), shapesOf(hosts.map(shapeOfHost)));
      return {
        plain: {
          waiting: waiting.length,
          wanted: wanted.map(({ shape, hosts: count, serves }) => ({ ...shape, hosts: count, serves })),
        },
        names: wanted.map(({ shape }) => shape.like),
        draw: (terminal) => show(terminal, waiting.length, wanted),
      };
    }),
  );
  return new Command('capacity').addCommand(
    addHelp(command, [
      ['berth capacity wanted', 'for a person who buys hosts'],
      ['berth capacity wanted --json', 'for an autoscaler: the first of wanted serves most with fewest hosts'],
    ]),
  );
}

function waitingOf({ requestSpec, waiting }: InstanceView) {
  const { resources, requiredTraits, forbiddenTraits } = requestSpec;
  return { resources, requiredTraits, forbiddenTraits, waitsFor: waiting?.waitsFor ?? [] };
}

function show(terminal: Terminal, waiting: number, wanted: readonly CapacityWanted[]): void {
  if (waiting === 0) return terminal.print('nothing waits for capacity');
  terminal.print(`${counted(waiting, 'instance')} ${waiting === 1 ? 'waits' : 'wait'} for capacity`);
  if (wanted.length === 0) return terminal.print('none of the shapes that there are would serve any of them');
  const rows = wanted.map(({ shape: { like, capacity }, hosts, serves }) => {
    const amounts = Object.entries(capacity).map(([name, amount]) => `${name}=${amount}`);
    return [hosts, like, amounts.join(' '), `${serves} of ${waiting}`];
  });
  terminal.print(`\n${table(terminal, ['MORE HOSTS', 'LIKE', 'WITH', 'SERVE'], rows)}`);
}
