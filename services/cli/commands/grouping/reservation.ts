import { type Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import type { ReservationStatus } from '#libs/contracts/reservations';
import { timeText } from '#libs/domain/clock';
import { answerCommand, showAnswer } from '../../answers/answer';
import { changes, noun } from '../../answers/declared';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { duration } from '../build/admission-flags';
import { addRequestFlags, requestSpecOf } from '../build/request-flags';
import { amount } from '../number-flags';

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .alias('list')
    .description('Show reservations: their windows, where their units are, and whether each has a host.')
    .argument('[name]', 'one reservation; all without');
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      const reservations = await client.reservations(name ?? '');
      return {
        plain: reservations,
        names: reservations.map(({ reservation }) => reservation.name),
        draw: (terminal) => draw(terminal, reservations),
      };
    }),
  );
  return addHelp(command, [
    ['berth reservation show', 'each reservation, and whether it can be kept'],
    ['berth reservation show night', 'one of them'],
  ]);
}

const createCommand = (context: Context) =>
  changes({
    name: 'create',
    does: 'Hold capacity for a project over a window: a unit for each of --count instances. Refused unless each has a host.',
    takes: (command: Command) =>
      addRequestFlags(command)
        .argument('<name>', 'its name, which requests of the project say')
        .optionsGroup('Window:')
        .requiredOption('--from <time>', 'begin: now, after a time such as 8h, or 2026-11-30T22:00:00Z', moment)
        .requiredOption('--until <time>', 'end, likewise', moment)
        .option('--count <n>', 'units: instances that fit in', amount, 1),
    async call(client, flags, name) {
      const nowMs = context.clock.now();
      const spec = requestSpecOf(flags, []);
      const window = { fromMs: flags.from(nowMs), untilMs: flags.until(nowMs) };
      return client.createReservation({ name, ...window, count: flags.count, spec });
    },
    print: ({ terminal }, status: ReservationStatus) => draw(terminal, [status]),
    examples: [
      [
        'berth reservation create night --project science --from 8h --until 16h --count 4 --vcpu 8 --memory-mb 16384',
        'four instances of this size, from eight hours from now',
      ],
      [
        'berth reservation create fair --project sales --from now --until 2h --flavor large --zone north',
        'at once, in one zone',
      ],
    ],
  })(context);

const deleteCommand = changes({
  name: 'delete',
  does: 'End a reservation; its instances stay.',
  takes: (command: Command) => command.argument('<name>', 'its name'),
  async call(client, _, name) {
    await client.deleteReservation(name);
    return { name };
  },
  print: ({ terminal }, { name }) => terminal.print(`reservation ${name} is deleted`),
  examples: [['berth reservation delete night', 'anybody may use its capacity']],
});

/** `berth reservation show | create | delete` */
export const reservationCommand = noun('reservation', [showCommand, createCommand, deleteCommand]);

/** A point in time, which may be said as a time from now. */
function moment(text: string): (nowMs: number) => number {
  if (text === 'now') return (nowMs) => nowMs;
  if (/^\d+[smhd]?$/.test(text)) {
    const afterMs = duration(text);
    return (nowMs) => nowMs + afterMs;
  }
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw new InvalidArgumentError('It must be now, 8h, or a time such as 2026-11-30T22:00:00Z.');
  return () => atMs;
}

const HEAD = ['NAME', 'PROJECT', 'FROM', 'UNTIL', 'UNITS', 'HOSTS', 'STATE'];

function draw(terminal: Terminal, reservations: readonly ReservationStatus[]): void {
  if (reservations.length === 0) terminal.print('there are no reservations');
  else terminal.print(table(terminal, HEAD, reservations.map(rowOf)));
  for (const { reservation, state, reason } of reservations) {
    if (state === 'at_risk') terminal.print(`${reservation.name}: ${reason}`);
  }
}

function rowOf({ reservation, state, hosts }: ReservationStatus) {
  const { name, fromMs, untilMs, count, requestSpec } = reservation;
  const used = hosts.reduce((sum, { instances }) => sum + instances, 0);
  const units = used === 0 ? String(count) : `${count}, ${used} used`;
  const where = hosts.map((one) => (one.units === 1 ? one.host : `${one.units} on ${one.host}`)).join(', ');
  return [name, requestSpec.projectId, timeText(fromMs), timeText(untilMs), units, where, state.replace('_', ' ')];
}
