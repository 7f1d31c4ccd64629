import type { Command } from '@commander-js/extra-typings';
import type { HostSummary } from '#libs/contracts/hosts';
import { capacityOf } from '#libs/domain/inventory';
import { changesEach, lists, noun, shows } from '../../answers/declared';
import type { Context } from '../../context';
import { gaugeOf } from '../../views/fill';
import { ageOf, formatNumber } from '../../views/format';
import type { Column, Listing } from '../../views/listing';
import { bar, facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { pattern } from '../flags/list-flags';
import { drainCommand, undrainCommand } from './host-drain';

/** The hosts of a command, and its flag for programs: its JSON is a list. */
const hosts = (command: Command) =>
  command.argument('<host...>', 'hosts').option('--json', 'print one JSON value', false);

/** `berth host list | show | disable | enable | drain | undrain | trust | delete` */
export const hostCommand = noun('host', [
  lists({
    does: 'List hosts and how full they are.',
    takes: (command: Command) =>
      command
        .option('--zone <name>', 'only in this availability zone')
        .option('--name <name>', 'only with this name; * stands for anything', pattern),
    listing: listingOf,
    async call(client, { zone, name = /^/ }) {
      const isAsked = ({ host, availabilityZone }: HostSummary) =>
        name.test(host) && (zone === undefined || availabilityZone === zone);
      const found = (await client.hosts()).filter(isAsked);
      // Refuses a zone that is not there: an empty list would look like an empty zone.
      if (found.length === 0 && zone !== undefined) await client.aggregates.zones(zone);
      return found;
    },
    examples: [
      ['berth host list', 'the fleet at a glance'],
      ['berth host list --zone east --name "web-*"', 'some of them'],
      ['berth host list -o wide --watch', 'every column, every two seconds'],
      ['berth host list --sort-by vcpu --reverse', 'the fullest first'],
      ['berth host list -o name', 'names alone, for a script'],
    ],
  }),
  shows({
    name: 'show',
    does: 'Show one host: inventories, traits, aggregates.',
    takes: (command: Command) => command.argument('<host>', 'host'),
    async call(client, _flags, name) {
      // The scheduler refuses an unknown host, so there is always one.
      const [host] = (await client.hosts(name)) as [HostSummary];
      return { plain: host, names: [host.host], draw: (context) => show(context, host) };
    },
    examples: [['berth host show host-7', 'what it has, what is in use, what it is']],
  }),
  changesEach({
    name: 'disable',
    does: 'Block new instances on hosts; running instances stay.',
    takes: (command: Command) => hosts(command).option('--reason <text>', 'the reason, shown with the host', ''),
    call: (client, { reason }, host: string) => client.setHostEnabled(host, false, reason),
    print: printStatus,
    examples: [['berth host disable host-7 host-8 --reason "new disk"', 'both out of service']],
  }),
  changesEach({
    name: 'enable',
    does: 'Let hosts get new instances again.',
    takes: hosts,
    call: (client, _flags, host: string) => client.setHostEnabled(host, true),
    print: printStatus,
    examples: [['berth host enable host-7', 'back in service']],
  }),
  drainCommand,
  undrainCommand,
  changesEach({
    name: 'trust',
    does: 'End the quarantine of hosts that kept failing builds: builds go there again.',
    takes: hosts,
    call: (client, _flags, host: string) => client.clearHostFailures(host),
    print: printStatus,
    examples: [['berth host trust host-7', 'its disk is new: build there again']],
  }),
  changesEach({
    name: 'delete',
    does: 'Delete hosts that are dead and empty: their providers and leases.',
    takes: (command: Command) =>
      hosts(command).option('--queue', "the agent's queue as well: for a host that is gone for good", false),
    async call(client, { queue: withQueue }, host: string) {
      await client.deleteHost(host, { withQueue });
      return { host, deleted: true };
    },
    print: ({ terminal }, { host }) => terminal.print(`${host} is deleted; it returns if its agent does`),
    examples: [
      ['berth host delete host-7', 'refused while it has instances or a live agent, and says which'],
      ['berth host delete host-7 --queue', 'gone for good; an agent of that name must be enrolled again'],
    ],
  }),
]);

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

function quarantineFacts({ quarantinedUntilMs, lastFailure }: HostSummary): [string, string][] {
  if (quarantinedUntilMs === 0) return [];
  const until = `next probe after ${new Date(quarantinedUntilMs).toISOString()}; berth host trust ends it`;
  return [
    ['quarantine', until],
    ['last failure', lastFailure],
  ];
}

function printStatus({ terminal }: Context, host: HostSummary): void {
  terminal.print(`${host.host} is ${showStatus(terminal, host)}`);
}

function showStatus({ colours }: Terminal, host: HostSummary): string {
  if (!host.up) return colours.red('down');
  if (!host.enabled) return colours.yellow('disabled');
  return host.quarantinedUntilMs === 0 ? colours.green('up') : colours.yellow('quarantine');
}
