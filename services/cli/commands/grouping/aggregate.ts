import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { AggregateView } from '#libs/contracts/aggregates';
import { answerCommand, showAnswer } from '../../answers/answer';
import { toEach } from '../../answers/to-each';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { ageOf } from '../../views/format';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import { pairs } from '../../views/pairs';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { hostName, keyAndValue } from '../build/request-flags';
import { repeatable } from '../repeatable-flag';

/** `berth aggregate create | list | show | set | unset | add-host | remove-host | delete` */
export function aggregateCommand(context: Context): CommandUnknownOpts {
  return new Command('aggregate')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(setCommand(context))
    .addCommand(unsetCommand(context))
    .addCommand(hostCommand(context, 'add-host'))
    .addCommand(hostCommand(context, 'remove-host'))
    .addCommand(deleteCommand(context));
}

const metadataFlag = () => repeatable('--property <key=value>', 'metadata, as in Nova', keyAndValue);

function createCommand(context: Context): CommandUnknownOpts {
  const command = new Command('create')
    .description('Add an aggregate without hosts.')
    .argument('<name>', 'aggregate')
    .option('--zone <name>', 'make it an availability zone (metadata availability_zone)')
    .addOption(metadataFlag())
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { zone, property, json }, name) => {
    print(context, json, await client.aggregates.create(name, metadataOf(zone, property)));
  });
  return addHelp(command, [
    ['berth aggregate create east --zone east', 'an availability zone'],
    ['berth aggregate create rack-7 --property rack=7', 'a rack, to spread over'],
    ['berth aggregate create gold --property filter_tenant_id=bank', 'for one project only'],
    ['berth aggregate create old --property cpu_weight_multiplier=-1', 'filled up host by host'],
  ]);
}

function listCommand(context: Context): CommandUnknownOpts {
  const listing: Listing<AggregateView> = {
    nameOf: ({ name }) => name,
    whenNone: 'no aggregates',
    sorts: { age: ({ updatedAtMs }) => -updatedAtMs, hosts: ({ hostCount }) => hostCount },
    columns: [
      { head: 'AGGREGATE', cell: ({ name }) => name },
      { head: 'UUID', cell: ({ uuid }) => ({ uuid }), spare: 'first' },
      { head: 'HOSTS', cell: ({ hostCount }) => hostCount },
      { head: 'METADATA', cell: ({ metadata }) => pairs(metadata) || '-' },
      { head: 'AGE', cell: ({ updatedAtMs }) => ageOf(context.clock, updatedAtMs) },
    ],
  };
  const command = listingCommand('list', listing).description('List aggregates.');
  useClient(context, command, async (client, flags) => {
    await showListing(context, flags, listing, () => client.aggregates.list());
  });
  return addHelp(command, [['berth aggregate list', 'how the fleet is divided']]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show one aggregate and its hosts.')
    .argument('<aggregate>', 'name or UUID');
  useClient(context, command, (client, flags, aggregate) =>
    showAnswer(context, flags, async () => {
      const { hosts, ...shown } = await client.aggregates.show(aggregate);
      const more: [string, string][] = [['hosts', hosts.join(' ') || '-']];
      const draw = (terminal: Terminal) => print({ ...context, terminal }, false, shown, more);
      return { plain: { ...shown, hosts }, names: [shown.name], draw };
    }),
  );
  return addHelp(command, [['berth aggregate show east', 'its metadata and hosts']]);
}

function setCommand(context: Context): CommandUnknownOpts {
  const command = new Command('set')
    .description('Set metadata or the name.')
    .argument('<aggregate>', 'name or UUID')
    .option('--name <name>', 'another name')
    .option('--zone <name>', 'the availability zone of its hosts')
    .addOption(metadataFlag())
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { name, zone, property, json }, aggregate) => {
    const set = metadataOf(zone, property);
    if (name === undefined && Object.keys(set).length === 0) {
      throw usageError('there is nothing to set', 'say --name, --zone or --property key=value');
    }
    print(context, json, await client.aggregates.update(aggregate, { name, set }));
  });
  return addHelp(command, [['berth aggregate set rack-7 --property ssd=true', 'a fact that flavors may ask for']]);
}

function unsetCommand(context: Context): CommandUnknownOpts {
  const command = new Command('unset')
    .description('Remove metadata.')
    .argument('<aggregate>', 'name or UUID')
    .argument('[key...]', 'keys of metadata')
    .addOption(repeatable('--property <key>', 'the key of metadata', String))
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { property, json }, aggregate, keys) => {
    const unset = [...property, ...keys];
    if (unset.length === 0) throw usageError('there is nothing to take away', 'name a key');
    print(context, json, await client.aggregates.update(aggregate, { unset }));
  });
  return addHelp(command, [['berth aggregate unset gold filter_tenant_id', 'open to every project again']]);
}

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
    const show = (done: readonly AggregateView[]) => done.slice(-1).forEach((last) => print(context, json, last));
    return toEach(hosts, change, show, 1);
  });
  return addHelp(command, [
    [`berth aggregate ${name} east host-7 host-8`, isAdding ? 'both are in it' : 'both are out of it'],
  ]);
}

function deleteCommand(context: Context): CommandUnknownOpts {
  const command = new Command('delete')
    .description('Delete an aggregate without hosts.')
    .argument('<aggregate>', 'name or UUID')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, name) => {
    const aggregate = await client.aggregates.delete(name);
    if (json) context.terminal.json(aggregate);
    else context.terminal.print(`${aggregate.name} is deleted`);
  });
  return addHelp(command, [['berth aggregate delete rack-7', 'its hosts were taken out before']]);
}

function hostNames(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, hostName(text)];
}

function metadataOf(zone: string | undefined, properties: readonly (readonly [string, string])[]) {
  return { ...(zone === undefined ? {} : { availability_zone: zone }), ...Object.fromEntries(properties) };
}

function print(
  { terminal, clock }: Context,
  json: boolean,
  aggregate: AggregateView,
  more: readonly (readonly [string, string])[] = [],
): void {
  if (json) return terminal.json(aggregate);
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
