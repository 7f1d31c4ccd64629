import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { HostSummary } from '#libs/contracts/hosts';
import { capacityOf } from '#libs/domain/inventory';
import { answerCommand, showAnswer } from '../../answers/answer';
import { toEach } from '../../answers/to-each';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { gaugeOf } from '../../views/fill';
import { ageOf, formatNumber } from '../../views/format';
import { type Column, type Listing, listingCommand, showListing } from '../../views/listing';
import { bar, facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { pattern } from '../flags/list-flags';
import { drainCommand, undrainCommand } from './host-drain';

/** `berth host list | show | disable | enable | drain | undrain | trust | delete` */
export function hostCommand(context: Context): CommandUnknownOpts {
  return new Command('host')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(disableCommand(context))
    .addCommand(enableCommand(context))
    .addCommand(drainCommand(context))
    .addCommand(undrainCommand(context))
    .addCommand(trustCommand(context))
    .addCommand(deleteCommand(context));
}

const ANY = /^/;

function listCommand(context: Context): CommandUnknownOpts {
  const listing = listingOf(context);
  const command = listingCommand('list', listing)
    .description('List hosts and how full they are.')
    .option('--zone <name>', 'only in this availability zone')
    .option('--name <name>', 'only with this name; * stands for anything', pattern);
  useClient(context, command, async (client, { zone, name = ANY, ...flags }) => {
    const isAsked = ({ host, availabilityZone }: HostSummary) =>
      name.test(host) && (zone === undefined || availabilityZone === zone);
    await showListing(context, flags, listing, async () => {
      const hosts = (await client.hosts()).filter(isAsked);
      // Refuses a zone that is not there: an empty list would look like an empty zone.
      if (hosts.length === 0 && zone !== undefined) await client.aggregates.zones(zone);
      return hosts;
    });
  });
  return addHelp(command, [
    ['berth host list', 'the fleet at a glance'],
    ['berth host list --zone east --name "web-*"', 'some of them'],
    ['berth host list -o wide --watch', 'every column, every two seconds'],
    ['berth host list --sort-by vcpu --reverse', 'the fullest first'],
    ['berth host list -o name', 'names alone, for a script'],
  ]);
}

function listingOf({ terminal, clock }: Context): Listing<HostSummary> {
  const classes = [
    ['VCPU', 'VCPU'],
    ['MEMORY', 'MEMORY_MB'],
    ['DISK', 'DISK_GB'],
  ] as const;
  return {
    nameOf: ({ host }) => host,
    whenNone: 'no hosts',
    sorts: {
      age: ({ updatedAtMs }) => -updatedAtMs,
      zone: ({ availabilityZone }) => availabilityZone,
      instances: ({ instances }) => instances,
      failures: ({ failures }) => failures,
      vcpu: (host) => shareOf(host, 'VCPU'),
      memory: (host) => shareOf(host, 'MEMORY_MB'),
      disk: (host) => shareOf(host, 'DISK_GB'),
    },
    columns: [
      { head: 'HOST', cell: ({ host }) => host },
      { head: 'STATUS', cell: (host) => showStatus(terminal, host) },
      { head: 'ZONE', cell: (host) => host.availabilityZone || '-' },
      { head: 'INSTANCES', cell: ({ instances }) => instances },
      ...classes.flatMap(([head, name]): Column<HostSummary>[] => [
        { head, cell: (host) => gaugeOf(host, name) ?? '-' },
        { head: '', cell: (host) => amountsOf(host, name), spare: 'first' },
      ]),
      { head: 'FAILURES', cell: ({ failures }) => failures, isWide: true },
      { head: 'SERVICE HOST', cell: ({ serviceHost }) => serviceHost, isWide: true },
      { head: 'CHANGED', cell: ({ updatedAtMs }) => `${ageOf(clock, updatedAtMs)} ago`, isWide: true },
    ],
  };
}

function amountsOf({ resources }: HostSummary, resourceClass: string): string {
  const found = resources[resourceClass];
  return found ? `${formatNumber(found.used)} of ${formatNumber(capacityOf(found.inventory))}` : '-';
}

/** The used share of a host's capacity of a class; 0 without it. */
function shareOf({ resources }: HostSummary, resourceClass: string): number {
  const found = resources[resourceClass];
  return found ? found.used / Math.max(1, capacityOf(found.inventory)) : 0;
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show one host: inventories, traits, aggregates.')
    .argument('<host>', 'host');
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      // The scheduler refuses an unknown host, so there is always one.
      const [host] = (await client.hosts(name)) as [HostSummary];
      return { plain: host, names: [host.host], draw: (terminal) => show({ ...context, terminal }, host) };
    }),
  );
  return addHelp(command, [['berth host show host-7', 'what it has, what is in use, what it is']]);
}

function show({ terminal, clock }: Context, host: HostSummary): void {
  const pairs: [string, string][] = [
    ['host', host.host],
    ['status', `${showStatus(terminal, host)} ${host.disabledReason}`.trim()],
    ['zone / cell', `${host.availabilityZone || '-'} / ${host.cell}`],
    ['provider', host.providerUuid],
    ['service host', host.serviceHost],
    ['instances', `${host.instances}, and ${host.externalInstances} that Berth does not manage`],
    ['heavy work', `${host.ioOps} in progress`],
    ['failures', `${host.failures} lately, ${host.failuresInARow} in a row`],
    ...quarantineFacts(host),
    ['traits', host.traits.join(' ') || '-'],
    ['aggregates', host.aggregates.join(' ') || '-'],
    ['last change', `${ageOf(clock, host.updatedAtMs)} ago`],
  ];
  terminal.print(facts(terminal, pairs));
  const rows = Object.entries(host.resources).map(([name, { inventory, used }]) => [
    name,
    used,
    capacityOf(inventory),
    bar(terminal, used, capacityOf(inventory)),
    inventory.total,
    inventory.reserved,
    formatNumber(inventory.allocationRatio),
  ]);
  const head = ['RESOURCE CLASS', 'USED', 'CAPACITY', '', 'TOTAL', 'RESERVED', 'RATIO'];
  terminal.print(`\n${table(terminal, head, rows)}`);
}

function disableCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand('disable', 'Block new instances on hosts; running instances stay.').option(
    '--reason <text>',
    'why; the host shows it to other operators',
    '',
  );
  useClient(context, command, (client, { json, reason }, hosts) =>
    toEach(hosts, (host) => client.setHostEnabled(host, false, reason), showEnabled(context, json)),
  );
  return addHelp(command, [['berth host disable host-7 host-8 --reason "new disk"', 'both out of service']]);
}

function enableCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand('enable', 'Let hosts get new instances again.');
  useClient(context, command, (client, { json }, hosts) =>
    toEach(hosts, (host) => client.setHostEnabled(host, true), showEnabled(context, json)),
  );
  return addHelp(command, [['berth host enable host-7', 'back in service']]);
}

function trustCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand('trust', 'End the quarantine of hosts that kept failing builds: builds go there again.');
  useClient(context, command, (client, { json }, hosts) =>
    toEach(hosts, (host) => client.clearHostFailures(host), showEnabled(context, json)),
  );
  return addHelp(command, [['berth host trust host-7', 'its disk is new: build there again']]);
}

function deleteCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand('delete', 'Delete hosts that are dead and empty: their providers and leases.').option(
    '--queue',
    "the agent's queue as well: for a host that is gone for good",
    false,
  );
  useClient(context, command, (client, { queue: withQueue, json }, hosts) => {
    const remove = async (host: string) => {
      await client.deleteHost(host, { withQueue });
      return { host, deleted: true };
    };
    return toEach(hosts, remove, (done) => {
      if (json) context.terminal.json(done);
      else for (const { host } of done) context.terminal.print(`${host} is deleted; it returns if its agent does`);
    });
  });
  return addHelp(command, [
    ['berth host delete host-7', 'refused while it has instances or a live agent, and says which'],
    ['berth host delete host-7 --queue', 'gone for good; an agent of that name must be enrolled again'],
  ]);
}

function quarantineFacts({ quarantinedUntilMs, lastFailure }: HostSummary): [string, string][] {
  if (quarantinedUntilMs === 0) return [];
  const until = `next probe after ${new Date(quarantinedUntilMs).toISOString()}; berth host trust ends it`;
  return [
    ['quarantine', until],
    ['last failure', lastFailure],
  ];
}

/** A command on several hosts; its JSON is a list. */
function hostsCommand(name: string, purpose: string) {
  return new Command(name)
    .description(purpose)
    .argument('<host...>', 'hosts')
    .option('--json', 'print one JSON value', false);
}

function showEnabled({ terminal }: Context, json: boolean): (hosts: readonly HostSummary[]) => void {
  return (hosts) => {
    if (json) terminal.json(hosts);
    else for (const host of hosts) terminal.print(`${host.host} is ${showStatus(terminal, host)}`);
  };
}

function showStatus({ colours }: Terminal, host: HostSummary): string {
  if (!host.up) return colours.red('down');
  if (!host.enabled) return colours.yellow('disabled');
  return host.quarantinedUntilMs === 0 ? colours.green('up') : colours.yellow('quarantine');
}
