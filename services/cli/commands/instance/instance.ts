import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { spelled } from '#libs/client/nova-states';
import type { InstanceView } from '#libs/contracts/instance';
import { withinInWords } from '#libs/domain/grouping/within-in-words';
import { noun, shows } from '../../answers/declared';
import { meantInstance, meantRequest, NAMED } from '../../client/meant';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { attemptSummary, showState } from '../../views/attempt-summary';
import { ageOf } from '../../views/format';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import { facts, table } from '../../views/table';
import { admissionSummary, waitingSummary } from '../../views/waiting-summary';
import { pattern, stateFlag } from '../flags/list-flags';
import { amount } from '../number-flags';
import { standingLine } from '../quota/share-text';
import { gangInWords } from './gang-text';
import { confirmCommand, liveMigrateCommand, migrateCommand, resizeCommand, revertCommand } from './move';
import { evacuateCommand, shelveCommand, startCommand, stopCommand, unshelveCommand } from './operate';
import { adoptCommand, destroyCommand } from './settle';
import { terminateCommand } from './terminate';

const showCommand = shows({
  name: 'show',
  does: 'Show one instance with all attempts to build it.',
  takes: (command: Command) => command.argument('<instance>', NAMED),
  async call(client, _flags, named) {
    const instance = await client.instance(await meantInstance(client, named));
    return { plain: spelled(instance), names: [instance.uuid], draw: (context) => show(context, instance) };
  },
  examples: [
    ['berth instance show web-3', 'where it is and how it got there'],
    ['berth instance show 6f1f36c4', 'by the beginning of its UUID, as lists show it'],
  ],
});

/** `berth instance list | show | stop | start | resize | migrate | live-migrate | confirm | revert | evacuate | ...` */
export const instanceCommand = noun('instance', [
  listCommand,
  showCommand,
  stopCommand,
  startCommand,
  resizeCommand,
  migrateCommand,
  liveMigrateCommand,
  confirmCommand,
  revertCommand,
  shelveCommand,
  unshelveCommand,
  evacuateCommand,
  (context) => terminateCommand(context, 'delete').alias('terminate').description('Destroy instances.'),
  adoptCommand,
  destroyCommand,
]);

function listCommand(context: Context): CommandUnknownOpts {
  const listing = listingOf(context);
  const command = listingCommand('list', listing)
    .description('List instances, with failed attempts and faults.')
    .addOption(stateFlag('only in this state'))
    .option('--name <name>', 'only with this name; * stands for anything', pattern)
    .option('--host <name>', 'only on this host', '')
    .option('--project <id>', 'only of this project', '')
    .option('--request <request>', 'only of this build request: its UUID or the beginning of that')
    .option('--limit <n>', 'list at most this many', amount, 1000);
  useClient(context, command, async (client, flags) => {
    const { state, name, host, project: projectId, request, limit } = flags;
    const read = async () => {
      const requestId = request && (await meantRequest(client, request));
      // Berth matches the rest itself; a name is matched here.
      const found = await client.instances(
        { state, host, projectId, requestId: requestId ?? '' },
        name ? Infinity : limit,
      );
      return found.filter((one) => name?.test(one.name) ?? true).slice(0, limit);
    };
    const instances = await showListing(context, flags, listing, read);
    if (instances.length === limit && !flags.json) {
      context.terminal.note(`the first ${limit}; there may be more: --limit shows them`);
    }
  });
  return addHelp(command, [
    ['berth instance list --state ERROR', 'what failed, and why'],
    ['berth instance list --state PENDING', 'what waits for capacity, in which place, and for what'],
    ['berth instance list --name "web-*" --sort-by age', 'the youngest of these first'],
    ['berth instance list --host host-7 --json', 'what runs on a host, for a program'],
  ]);
}

function listingOf({ terminal, clock }: Context): Listing<InstanceView> {
  return {
    nameOf: ({ uuid }) => uuid,
    plainOf: spelled,
    whenNone: 'no instances',
    sorts: {
      name: ({ name }) => name,
      age: ({ createdAtMs }) => -createdAtMs,
      state: ({ state }) => state,
      host: ({ host }) => host,
      project: ({ projectId }) => projectId,
    },
    columns: [
      { head: 'INSTANCE', cell: ({ uuid }) => ({ uuid }) },
      { head: 'NAME', cell: ({ name }) => name },
      { head: 'STATE', cell: ({ state }) => showState(terminal, state) },
      { head: 'HOST', cell: ({ host }) => host || '-' },
      { head: 'PROJECT', cell: ({ projectId }) => projectId, spare: 'last' },
      { head: 'REQUEST', cell: ({ requestId: uuid }) => ({ uuid }), isWide: true },
      { head: 'AGE', cell: ({ createdAtMs }) => ageOf(clock, createdAtMs), spare: 'last' },
      {
        head: 'ATTEMPTS',
        cell: (i) => [waitingSummary(clock, i), attemptSummary(i)].filter((part) => part !== '').join('; '),
      },
    ],
  };
}

function show({ terminal, clock }: Context, i: InstanceView): void {
  const { flavor, group } = i.requestSpec;
  const within = group?.within;
  const resources = Object.entries(i.requestSpec.resources).map(([name, n]) => `${name}=${n}`);
  const pairs: [string, string][] = [
    ['instance', i.uuid],
    ['name', i.name],
    ['state', showState(terminal, i.state)],
    ['host', i.host || '-'],
    ['flavor', flavor === undefined ? '-' : `${flavor.name}, version ${flavor.version}`],
    ['resources', resources.join(' ')],
    ['rebuild', i.requestSpec.rebuildPolicy === 'never' ? 'never by itself' : 'evacuated when its host is dead'],
    ['project / user', `${i.projectId} / ${i.userId}`],
    ['request', i.requestId],
    ...(i.minCount ? [['gang', gangInWords(i)] as [string, string]] : []),
    ...(within ? [['together', withinInWords(within)] as [string, string]] : []),
    ['created', `${new Date(i.createdAtMs).toISOString()} (${ageOf(clock, i.createdAtMs)} ago)`],
  ];
  if (i.admission !== undefined) pairs.push(['priority', admissionSummary(i.admission)]);
  if (i.waiting !== undefined) pairs.push(['waits', waitingSummary(clock, i)]);
  if (i.waiting?.standing) pairs.push(['stands by', standingLine(i.waiting.standing)]);
  if (i.endsAtMs) pairs.push(['ends', new Date(i.endsAtMs).toISOString()]);
  if (i.migration !== undefined) pairs.push(['move', moveOf(i.migration)]);
  if (i.fault !== undefined) pairs.push(['fault', `${i.fault.reason}: ${i.fault.message}`]);
  terminal.print(facts(terminal, pairs));
  if (i.attempts.length === 0) return;
  const rows = i.attempts.map((a) => [
    a.number,
    a.host,
    a.outcome,
    a.endedAtMs === undefined ? '-' : `${a.endedAtMs - a.startedAtMs} ms`,
    a.reason,
  ]);
  terminal.print(`\n${table(terminal, ['ATTEMPT', 'HOST', 'OUTCOME', 'TOOK', 'REASON'], rows)}`);
}

function moveOf({ kind, sourceHost, destHost, confirmAtMs, plan }: NonNullable<InstanceView['migration']>): string {
  const confirmed = confirmAtMs > 0 ? `, confirmed ${new Date(confirmAtMs).toISOString()} unless it is reverted` : '';
  const planned = plan === undefined ? '' : `, by the plan ${plan}`;
  return `${kind} from ${sourceHost} to ${destHost || '(not known yet)'}${planned}${confirmed}`;
}
