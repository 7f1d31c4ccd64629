import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import type { CellView } from '#libs/contracts/cell-methods';
import { TOP } from '#libs/domain/cells/cell';
import type { CellState } from '#libs/domain/cells/cell-summary';
import { counted } from '#libs/runtime/counted';
import { changes, lists, noun, shows } from '../../answers/declared';
import type { Context } from '../../context';
import { ageOf } from '../../views/format';
import type { Listing } from '../../views/listing';
import { facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { drainCellCommand } from './drain';

/** `berth cell list | show | disable | drain | enable`: calls the top of the fleet, whatever BERTH_CELL is. */
export function cellCommand(outside: Context): CommandUnknownOpts {
  const context = { ...outside, env: { ...outside.env, BERTH_CELL: TOP } };
  return ofCells(context).description(
    'List and show the cells of a fleet; disable, drain and enable them. Asks the top.',
  );
}

const ofCells = noun('cell', [
  lists({
    does: "List the cells of the fleet, with the top's summary of each.",
    listing: ({ terminal }: Context): Listing<CellView> => ({
      nameOf: ({ name }) => name,
      whenNone: 'no cells',
      plainOf: plain,
      sorts: { age: ({ changedAtMs }) => -changedAtMs, hosts: ({ summary }) => summary?.hostCount ?? 0 },
      columns: [
        { head: 'CELL', cell: ({ name }) => name },
        { head: 'STATE', cell: (cell) => showState(terminal, cell) },
        { head: 'HOSTS', cell: ({ summary }) => (summary ? `${summary.availableCount} of ${summary.hostCount}` : '-') },
        { head: 'INSTANCES', cell: ({ summary }) => summary?.instanceCount ?? '-' },
        { head: 'VCPU FREE', cell: (cell) => freeIn(cell, 'VCPU') },
        { head: 'MEMORY FREE', cell: (cell) => freeIn(cell, 'MEMORY_MB') },
        {
          head: 'WRONG GUESSES',
          cell: ({ selectedCount, wrongGuessCount: wrong }) => `${wrong} of ${selectedCount + wrong}`,
        },
      ],
    }),
    call: (client) => client.cells(),
    examples: [['berth cell list', 'the cells at a glance; hosts are those that take instances now']],
  }),
  shows({
    name: 'show',
    does: 'Show one cell: its state and its classes of hosts.',
    takes: (command: Command) => command.argument('<cell>', 'cell'),
    async call(client, _flags, name) {
      // The scheduler refuses an unknown cell, so there is always one.
      const [cell] = (await client.cells(name)) as [CellView];
      return { plain: plain(cell), names: [cell.name], draw: (context) => show(context, cell) };
    },
    examples: [['berth cell show b', 'what the top knows of it, and how old that is']],
  }),
  stateVerb('disable', 'disabled', 'Block new builds in a cell; running instances stay.', [
    'berth cell disable b --reason "new store"',
    'the top gives it none; its own clients still can',
  ]),
  drainCellCommand,
  stateVerb('enable', 'enabled', 'Let a cell get new builds again.', ['berth cell enable b', 'back in service']),
]);

function stateVerb(name: string, state: CellState, does: string, example: readonly [string, string]) {
  return changes({
    name,
    does,
    takes: (command: Command) =>
      command.argument('<cell>', 'cell').option('--reason <text>', 'the reason, for other operators', ''),
    call: (client, { reason }, cell) => client.setCellState(cell, state, reason),
    plain,
    print: ({ terminal }, cell) => terminal.print(`${cell.name} is ${showState(terminal, cell)}`),
    examples: [example],
  });
}

/** The free amount of a class in a cell. */
function freeIn({ summary }: CellView, name: string): number | string {
  return summary?.classes.reduce((sum, one) => sum + (one.free[name]?.total ?? 0), 0) ?? '-';
}

function show({ terminal, clock }: Context, cell: CellView): void {
  const { summary } = cell;
  const left = summary?.instanceCount ?? 0;
  const said = cell.changedAtMs === 0 ? '-' : `${ageOf(clock, cell.changedAtMs)} ago ${cell.reason}`.trim();
  const drained = left === 0 ? 'nothing is left' : `${counted(left, 'instance')} left`;
  const pairs: [string, string][] = [
    ['cell', cell.name],
    ['state', showState(terminal, cell)],
    ['since', said],
    ...(cell.state === 'draining' ? ([['drained', drained]] as [string, string][]) : []),
    ...(cell.isReachable ? [] : ([['unreachable', cell.unreachableReason]] as [string, string][])),
    ['builds', `${cell.selectedCount} selected, ${cell.wrongGuessCount} refused when it was asked`],
    ['summary', summary ? `${cell.summaryBytes} bytes, ${cell.summaryAgeMs} ms old` : 'none yet'],
    ['hosts', summary ? `${summary.availableCount} of ${summary.hostCount} take instances` : '-'],
    ['instances', String(summary?.instanceCount ?? '-')],
    ['traits', [...(summary?.commonTraits ?? [])].join(' ') || '-'],
    ['refused lately', summary?.refused.map(({ shape, count }) => `${count} of ${shape}`).join('; ') || '-'],
  ];
  terminal.print(facts(terminal, pairs));
  if (summary === undefined) return;
  const rows = summary.classes.map(({ zone, hostCount, traits, free }) => {
    const amounts = Object.entries(free).map(([name, { most, total }]) => `${name} ${total} (${most})`);
    return [zone || 'several', hostCount, amounts.join(', ') || '-', [...traits].join(' ') || '-'];
  });
  terminal.print(`\n${table(terminal, ['ZONE', 'HOSTS', 'FREE (ON ONE HOST AT MOST)', 'FURTHER TRAITS'], rows)}`);
}

function showState({ colours }: Terminal, { isReachable, state }: CellView): string {
  const said = state === 'enabled' ? colours.green(state) : colours.yellow(state);
  return isReachable ? said : `${colours.red('unreachable')}${state === 'enabled' ? '' : ` ${said}`}`;
}

/** With lists for sets, for JSON. */
function plain({ summary, ...cell }: CellView) {
  if (summary === undefined) return { ...cell, summary: null };
  const classes = summary.classes.map((one) => ({ ...one, traits: [...one.traits], someTraits: [...one.someTraits] }));
  return { ...cell, summary: { ...summary, commonTraits: [...summary.commonTraits], classes } };
}
