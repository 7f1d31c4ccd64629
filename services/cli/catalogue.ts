import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { ServiceProcess } from '#libs/runtime/run-service';
import type { Context } from './context';

/** A command of `berth`. Its code is loaded on demand: loading all takes longer than most commands run. */
export interface Entry {
  readonly name: string;
  /** One sentence, for `berth --help` and its own. */
  readonly description: string;
  /** True for commands of programs, which the help omits. */
  readonly isHidden?: boolean;
  load(context: Context): Promise<CommandUnknownOpts>;
}

/** The commands, in the order and under the headings of `berth --help`. */
export const CATALOGUE: readonly { readonly heading: string; readonly commands: readonly Entry[] }[] = [
  {
    heading: 'See it work:',
    commands: [
      {
        name: 'demo',
        description: 'Place builds on fake hosts, all in this process; no server is needed.',
        load: async (context) => (await import('#services/cli/commands/demo')).demoCommand(context),
      },
      {
        name: 'trace',
        description: 'Work with traces of VM requests.',
        load: async (context) => (await import('#services/cli/commands/trace')).traceCommand(context),
      },
      {
        name: 'up',
        description: 'Start every service on this machine, each as its own process, on the servers named.',
        load: async (context) => (await import('#services/cli/commands/service/up')).upCommand(context),
      },
    ],
  },
  {
    heading: 'Use it:',
    commands: [
      {
        name: 'build',
        description: 'Place and build one or more instances.',
        load: async (context) => (await import('#services/cli/commands/build/build')).buildCommand(context),
      },
      {
        name: 'terminate',
        description: 'Destroy instances and release their claims.',
        load: async (context) =>
          (await import('#services/cli/commands/instance/terminate')).terminateCommand(context, 'terminate'),
      },
      {
        name: 'instance',
        description: 'List, show, stop, start and move instances.',
        load: async (context) => (await import('#services/cli/commands/instance/instance')).instanceCommand(context),
      },
      {
        name: 'explain',
        description: 'Show where an instance would go, and why not elsewhere; nothing is claimed.',
        load: async (context) => (await import('#services/cli/commands/build/explain')).explainCommand(context),
      },
      {
        name: 'verify-refusal',
        description: 'Check a certificate of "no valid host" against the rows of the store, without the filters.',
        load: async (context) =>
          (await import('#services/cli/commands/build/verify-refusal')).verifyRefusalCommand(context),
      },
      {
        name: 'record',
        description: "Verify, export and import the schedulers' records of their decisions (explain --at).",
        load: async (context) => (await import('#services/cli/commands/record/record')).recordCommand(context),
      },
      {
        name: 'flavor',
        description: 'Named sizes of instances, for build --flavor.',
        load: async (context) => (await import('#services/cli/commands/flavor')).flavorCommand(context),
      },
      {
        name: 'group',
        description: 'Server groups, for build --group: instances to place together, or apart.',
        load: async (context) => (await import('#services/cli/commands/grouping/group')).groupCommand(context),
      },
      {
        name: 'zone',
        description: 'Availability zones, for build --zone. An aggregate with metadata availability_zone makes one.',
        load: async (context) => (await import('#services/cli/commands/grouping/zone')).zoneCommand(context),
      },
      {
        name: 'events',
        description: 'Follow the events of instances until Ctrl-C.',
        load: async (context) => (await import('#services/cli/commands/instance/events')).eventsCommand(context),
      },
    ],
  },
  {
    heading: 'See its resources (asks the placement API):',
    commands: [
      {
        name: 'provider',
        description: 'Show resource providers: their trees, inventories and usage.',
        load: async (context) => (await import('#services/cli/commands/provider/provider')).providerCommand(context),
      },
      {
        name: 'candidates',
        description: 'List allocation candidates: sets of providers that can take a request. Nothing is claimed.',
        load: async (context) =>
          (await import('#services/cli/commands/provider/candidates')).candidatesCommand(context),
      },
      {
        name: 'allocation',
        description: 'Show the allocations of a consumer: an instance or a migration.',
        load: async (context) =>
          (await import('#services/cli/commands/provider/allocation')).allocationCommand(context),
      },
      {
        name: 'usage',
        description: 'Show the usage of a project, by type of consumer, or of a provider.',
        load: async (context) => (await import('#services/cli/commands/provider/usage')).usageCommand(context),
      },
    ],
  },
  {
    heading: 'Operate it:',
    commands: [
      {
        name: 'top',
        description: 'Watch hosts and builds, as htop does processes.',
        load: async (context) => (await import('#services/cli/commands/top')).topCommand(context),
      },
      {
        name: 'host',
        description: 'List and show hosts; take them out of service and back.',
        load: async (context) => (await import('#services/cli/commands/host/host')).hostCommand(context),
      },
      {
        name: 'device',
        description: 'Taint devices of hosts, so that only requests which tolerate that get them, or keep them.',
        load: async (context) => (await import('#services/cli/commands/host/device')).deviceCommand(context),
      },
      {
        name: 'cell',
        description: 'List, disable, drain and enable the cells of a fleet. Asks the top.',
        load: async (context) => (await import('#services/cli/commands/cell/cell')).cellCommand(context),
      },
      {
        name: 'node',
        description: 'List and operate nodes of bare metal.',
        load: async (context) => (await import('#services/cli/commands/node/node')).nodeCommand(context),
      },
      {
        name: 'rebalance',
        description:
          'Find the fewest moves that reach a goal (empty hosts or a rack, admit a request, even out, defragment), and make them.',
        load: async (context) => (await import('#services/cli/commands/rebalance')).rebalanceCommand(context),
      },
      {
        name: 'aggregate',
        description: 'Groups of hosts, with metadata: zones, racks, tenants, weights.',
        load: async (context) => (await import('#services/cli/commands/grouping/aggregate')).aggregateCommand(context),
      },
      {
        name: 'quota',
        description: 'Limits of projects, by resource class and instances; every claim checks them.',
        load: async (context) => (await import('#services/cli/commands/quota/quota')).quotaCommand(context),
      },
      {
        name: 'guarantee',
        description: 'Keep a place elsewhere for whatever a host, rack or zone would take with it.',
        load: async (context) => (await import('#services/cli/commands/grouping/guarantee')).guaranteeCommand(context),
      },
      {
        name: 'reservation',
        description: 'Hold capacity for a project over a window of time; what ends before fills the gap.',
        load: async (context) =>
          (await import('#services/cli/commands/grouping/reservation')).reservationCommand(context),
      },
      {
        name: 'capacity',
        description: 'Estimate how many more hosts would serve waiting instances.',
        load: async (context) => (await import('#services/cli/commands/host/capacity')).capacityCommand(context),
      },
      {
        name: 'rehearse',
        description: 'Rehearse an operation on a copy of the fleet: duration, moves, refusals. Changes nothing.',
        load: async (context) => (await import('#services/cli/commands/rehearse/rehearse')).rehearseCommand(context),
      },
      {
        name: 'audit',
        description: 'List doubts, which Berth does not act on: their age, source and possible actions.',
        load: async (context) => (await import('#services/cli/commands/audit')).auditCommand(context),
      },
      {
        name: 'agent',
        description: "Create or renew an agent's broker user and order queue, and print its credentials.",
        load: async (context) => (await import('#services/cli/commands/broker-user')).agentCommand(context),
      },
      {
        name: 'project',
        description: "Create or renew a project's broker user, and print its credentials.",
        load: async (context) => (await import('#services/cli/commands/broker-user')).projectCommand(context),
      },
      {
        name: 'dead-letters',
        description: 'List, requeue or discard messages that no service could handle.',
        load: async (context) => (await import('#services/cli/commands/dead-letters')).deadLettersCommand(context),
      },
      {
        name: 'nova',
        description: 'Compare a shadow scheduler with the one that answers Nova.',
        load: async (context) => (await import('#services/cli/commands/nova/nova')).novaCommand(context),
      },
      {
        name: 'upgrade',
        description: 'Check a deployment before and after an upgrade of Berth.',
        load: async (context) => (await import('#services/cli/commands/upgrade/upgrade')).upgradeCommand(context),
      },
      {
        name: 'placement',
        description: 'Import from another placement API: move a running Nova to Berth, and back.',
        load: async (context) => (await import('#services/cli/commands/placement/placement')).placementCommand(context),
      },
      {
        name: 'config',
        description: 'List every setting: default, range, unit, help and present value. Secrets are hidden.',
        load: async (context) => (await import('#services/cli/commands/service/config')).configCommand(context),
      },
      {
        name: 'context',
        description: 'Named sets of settings, as contexts of kubectl: which broker and placement API to ask.',
        load: async (context) => (await import('#services/cli/commands/context')).contextCommand(context),
      },
      {
        name: 'completion',
        description: 'Print a completion script for a shell: commands, flags, hosts and instances.',
        load: async (context) =>
          (await import('#services/cli/commands/completion/completion')).completionCommand(context),
      },
      {
        name: 'help',
        description: "Print the help of a command: 'berth help host list'.",
        load: async () => (await import('#services/cli/commands/help')).helpCommand(),
      },
      {
        name: 'version',
        description: 'Print the version.',
        load: async () => (await import('#services/cli/commands/help')).versionCommand(),
      },
      {
        name: '__complete',
        description: 'What a word may become, for the scripts of completion.',
        isHidden: true,
        load: async (context) =>
          (await import('#services/cli/commands/completion/completion')).completeCommand(context),
      },
    ],
  },
  {
    heading: 'Run its services:',
    commands: [
      {
        name: 'scheduler',
        description: 'Run a scheduler: finds a host for each instance and claims it, or explains why there is none.',
        load: async (context) => runs(context, (await import('#services/scheduler/main')).scheduler),
      },
      {
        name: 'conductor',
        description:
          'Run a conductor: takes build requests, asks schedulers, orders builds, retries on alternates, audits claims.',
        load: async (context) => runs(context, (await import('#services/conductor/main')).conductor),
      },
      {
        name: 'compute-agent',
        description:
          'Run a compute agent: builds instances on its host (or on many fake hosts) and reports its resources.',
        load: async (context) => runs(context, (await import('#services/compute-agent/main')).computeAgent),
      },
      {
        name: 'placement-api',
        description:
          "Run the placement API: OpenStack Placement's HTTP API, microversions 1.0 to 1.39, on Berth's store.",
        load: async (context) => runs(context, (await import('#services/placement-api/main')).placementApi),
      },
      {
        name: 'console',
        description: 'Run the console: the fleet, its hosts, instances, builds and capacity in a browser, live.',
        load: async (context) => runs(context, (await import('#services/console/main')).webConsole),
      },
      {
        name: 'nova-scheduler',
        description:
          "Run a scheduler for OpenStack Nova, in the place of its nova-scheduler: answers Nova's RPC and claims in Berth's store.",
        load: async (context) => runs(context, (await import('#services/nova-scheduler/main')).novaScheduler),
      },
      {
        name: 'top-scheduler',
        description:
          'Run a scheduler of the top: chooses a cell for each request of the fleet, by summaries, and asks its schedulers.',
        load: async (context) => runs(context, (await import('#services/top-scheduler/main')).topScheduler),
      },
      {
        name: 'top-conductor',
        description:
          'Run a conductor of the top: takes build requests for the fleet, gives each to a cell, tracks it there.',
        load: async (context) => runs(context, (await import('#services/top-conductor/main')).topConductor),
      },
    ],
  },
];

async function runs(context: Context, service: ServiceProcess): Promise<CommandUnknownOpts> {
  const { serviceCommand } = await import('#services/cli/commands/service/service');
  return serviceCommand(context, service);
}
