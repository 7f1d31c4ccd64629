import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { AggregateView } from '#libs/contracts/aggregates';
import { changes, lists, noun, shows } from '../../answers/declared';
import { toEach } from '../../answers/to-each';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { ageOf } from '../../views/format';
import type { Listing } from '../../views/listing';
import { pairs } from '../../views/pairs';
import { facts } from '../../views/table';
import { hostName, keyAndValue } from '../build/request-flags';
import { repeatable } from '../repeatable-flag';

const metadataFlag = () => repeatable('--property <key=value>', 'metadata, as in Nova', keyAndValue);

/** `berth aggregate create | list | show | set | unset | add-host | remove-host | delete` */
export const aggregateCommand = noun('aggregate', [
  changes({
    name: 'create',
    does: 'Add an aggregate without hosts.',
    takes: (command: Command) =>
      command
        .argument('<name>', 'aggregate')
        .option('--zone <name>', 'make it an availability zone (metadata availability_zone)')
        .addOption(metadataFlag()),
    call: ({ aggregates }, { zone, property }, name) => aggregates.create(name, metadataOf(zone, property)),
    print,
    examples: [
      ['berth aggregate create east --zone east', 'an availability zone'],
      ['berth aggregate create rack-7 --property rack=7', 'a rack, to spread over'],
      ['berth aggregate create gold --property filter_tenant_id=bank', 'for one project only'],
      ['berth aggregate create old --property cpu_weight_multiplier=-1', 'filled up host by host'],
    ],
  }),
  lists({
    does: 'List aggregates.',
    listing: ({ clock }: Context): Listing<AggregateView> => ({
      nameOf: ({ name }) => name,
      whenNone: 'no aggregates',
      sorts: { age: ({ updatedAtMs }) => -updatedAtMs, hosts: ({ hostCount }) => hostCount },
      columns: [
        { head: 'AGGREGATE', cell: ({ name }) => name },
        { head: 'UUID', cell: ({ uuid }) => ({ uuid }), spare: 'first' },
        { head: 'HOSTS', cell: ({ hostCount }) => hostCount },
        { head: 'METADATA', cell: ({ metadata }) => pairs(metadata) || '-' },
        { head: 'AGE', cell: ({ updatedAtMs }) => ageOf(clock, updatedAtMs) },
      ],
    }),
    call: ({ aggregates }) => aggregates.list(),
    examples: [['berth aggregate list', 'how the fleet is divided']],
  }),
  shows({
    name: 'show',
    does: 'Show one aggregate and its hosts.',
    takes: (command: Command) => command.argument('<aggregate>', 'name or UUID'),
    async call({ aggregates }, _flags, aggregate) {
      const { hosts, ...shown } = await aggregates.show(aggregate);
      const draw = (context: Context) => print(context, shown, [['hosts', hosts.join(' ') || '-']]);
      return { plain: { ...shown, hosts }, names: [shown.name], draw };
    },
    examples: [['berth aggregate show east', 'its metadata and hosts']],
  }),
  changes({
    name: 'set',
    does: 'Set metadata or the name.',
    takes: (command: Command) =>
      command
        .argument('<aggregate>', 'name or UUID')
        .option('--name <name>', 'another name')
        .option('--zone <name>', 'the availability zone of its hosts')
        .addOption(metadataFlag()),
    async call({ aggregates }, { name, zone, property }, aggregate) {
      const set = metadataOf(zone, property);
      if (name === undefined && Object.keys(set).length === 0) {
        throw usageError('there is nothing to set', 'say --name, --zone or --property key=value');
      }
      return aggregates.update(aggregate, { name, set });
    },
    print,
    examples: [['berth aggregate set rack-7 --property ssd=true', 'a fact that flavors may ask for']],
  }),
  changes({
    name: 'unset',
    does: 'Remove metadata.',
    takes: (command: Command) =>
      command
        .argument('<aggregate>', 'name or UUID')
        .argument('[key...]', 'keys of metadata')
        .addOption(repeatable('--property <key>', 'the key of metadata', String)),
    async call({ aggregates }, { property }, aggregate, keys) {
      const unset = [...property, ...keys];
      if (unset.length === 0) throw usageError('there is nothing to take away', 'name a key');
      return aggregates.update(aggregate, { unset });
    },
    print,
    examples: [['berth aggregate unset gold filter_tenant_id', 'open to every project again']],
  }),
  (context) => hostCommand(context, 'add-host'),
  (context) => hostCommand(context, 'remove-host'),
  changes({
    name: 'delete',
    does: 'Delete an aggregate without hosts.',
    takes: (command: Command) => command.argument('<aggregate>', 'name or UUID'),
    call: ({ aggregates }, _flags, name) => aggregates.delete(name),
    print: ({ terminal }, { name }) => terminal.print(`${name} is deleted`),
    examples: [['berth aggregate delete rack-7', 'its hosts were taken out before']],
  }),
]);

function hostCommand(context: Context, name: 'add-host' | 'remove-host'): CommandUnknownOpts {
  const isAdding = name === 'add-host';
  const command = new Command(name)
    .description(isAdding ? 'Put hosts into an aggregate.' : 'Take hosts out of an aggregate.')
    .argument('<aggregate>', 'name or UUID')
    .argument('<host...>', 'hosts', hostNames)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, ({ aggregates }, { json }, aggregate, hosts) => {
    const change = (host: string) =>
      isAdding ? aggregates.addHost(aggregate, host) : aggregates.removeHost(aggregate, host);
    // The aggregate as it is after the last change.
    const show = (done: readonly AggregateView[]) =>
      done.slice(-1).forEach((last) => (json ? context.terminal.json(last) : print(context, last)));
    return toEach(hosts, change, show, 1);
  });
  return addHelp(command, [
    [`berth aggregate ${name} east host-7 host-8`, isAdding ? 'both are in it' : 'both are out of it'],
  ]);
}

function hostNames(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, hostName(text)];
}

function metadataOf(zone: string | undefined, properties: readonly (readonly [string, string])[]) {
  return { ...(zone === undefined ? {} : { availability_zone: zone }), ...Object.fromEntries(properties) };
}

function print(
  { terminal, clock }: Context,
  aggregate: AggregateView,
  more: readonly (readonly [string, string])[] = [],
): void {
  const { uuid, name, metadata, createdAtMs, updatedAtMs, hostCount } = aggregate;
  terminal.print(
    facts(terminal, [
      ['aggregate', name],
      ['uuid', uuid],
      ['metadata', pairs(metadata) || '-'],
      ['host count', String(hostCount)],
      ...more,
      ['created', `${ageOf(clock, createdAtMs)} ago`],
      ['changed', `${ageOf(clock, updatedAtMs)} ago`],
    ]),
  );
}
