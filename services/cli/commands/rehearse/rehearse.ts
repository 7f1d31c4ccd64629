import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { counted } from '#libs/runtime/counted';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings } from '../../settings';
import { addAdmissionFlags, admissionOf } from '../build/admission-flags';
import { addRequestFlags, requestSpecOf } from '../build/request-flags';
import { amount } from '../number-flags';
import { flavorCommand, outageCommand, quotaCommand, rebalanceCommand, upgradeCommand } from './changes';
import { loseEach } from './lose-each';
import { readFleet, saveFleet } from './read-fleet';
import { addRehearsalFlags, hostsCommand, STORE_SETTINGS } from './rehearsal-flags';
import { EXITS, hostsOf, named, run } from './run';

/** `berth rehearse drain | lose | ... | save`: an operation on a fork of the fleet. */
export function rehearseCommand(context: Context): CommandUnknownOpts {
  return new Command('rehearse')
    .addCommand(drainCommand(context))
    .addCommand(loseCommand(context))
    .addCommand(disableCommand(context))
    .addCommand(deleteCommand(context))
    .addCommand(buildCommand(context))
    .addCommand(upgradeCommand(context))
    .addCommand(rebalanceCommand(context))
    .addCommand(quotaCommand(context))
    .addCommand(flavorCommand(context))
    .addCommand(outageCommand(context))
    .addCommand(trafficCommand(context))
    .addCommand(saveCommand(context));
}

function drainCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand(
    'drain',
    'Rehearse berth host drain: its duration, the moves, and the instances that stay.',
  )
    .option('--parallel <n>', 'instances at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one instance', amount, 600);
  addRehearsalFlags(command).action((hosts, flags) =>
    run(context, command, (fleet) => {
      const { parallel, timeout } = flags;
      const names = hostsOf(fleet, hosts, flags);
      const operation = { kind: 'drain', hosts: names, parallel, timeoutMs: timeout * 1_000 } as const;
      return { operation, title: `Drain ${named(names)}` };
    }),
  );
  return addHelp(
    command,
    [
      ['berth rehearse drain host-7 --store-url redis://localhost:6379', 'before it is done'],
      ["berth rehearse drain --in rack=r12 --parallel 8 --fail-if 'refused>0'", 'in a pipeline: a whole rack'],
      ['berth rehearse drain host-7 --kill conductor --kill store', 'while processes die'],
      ['berth rehearse drain host-7 --set BERTH_SCHEDULER_PROFILE=pack', 'with other settings'],
    ],
    EXITS,
  );
}

function loseCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand(
    'lose',
    'Rehearse the death of hosts, a rack or a zone: rebuilt instances, their times, and those without a host.',
  )
    .option(
      '--evacuate',
      'evacuate all instances, as an operator; by default only those with --rebuild evacuate',
      false,
    )
    .option('--each <name>', 'each domain of this metadata key in turn, as rack, availability_zone or host')
    .option('--parallel <n>', 'instances evacuated at once', amount, 10)
    .option('--timeout <seconds>', 'time limit for one instance', amount, 3_600);
  addRehearsalFlags(command).action((hosts, flags) => {
    const { evacuate, parallel, timeout, each } = flags;
    const evacuation = evacuate ? { parallel, timeoutMs: timeout * 1_000 } : undefined;
    if (each !== undefined) return loseEach(context, command, each, evacuation);
    return run(context, command, (fleet) => {
      const names = hostsOf(fleet, hosts, flags);
      return { operation: { kind: 'lose', hosts: names, evacuation }, title: `Lose ${named(names)}` };
    });
  });
  return addHelp(
    command,
    [
      ['berth rehearse lose --zone east --evacuate', 'could the others take all of it, and by when'],
      ["berth rehearse lose --each rack --evacuate --seeds 1 --fail-if 'refused>0'", 'may any rack die now?'],
      ["berth rehearse lose --in rack=r12 --evacuate --seeds 100 --fail-if 'refused>0'", 'may this rack die now?'],
    ],
    EXITS,
  );
}

function disableCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand('disable', 'Rehearse berth host disable: the capacity left in service.');
  addRehearsalFlags(command).action((hosts, flags) =>
    run(context, command, (fleet) => {
      const names = hostsOf(fleet, hosts, flags);
      return { operation: { kind: 'disable', hosts: names }, title: `Disable ${named(names)}` };
    }),
  );
  return addHelp(command, [['berth rehearse disable host-7 host-8', 'what the others have']], EXITS);
}

function deleteCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand(
    'delete',
    'Rehearse that hosts are drained, switched off, and deleted once they are down.',
  )
    .option('--parallel <n>', 'instances moved at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one instance, and for a host until it is down', amount, 600);
  addRehearsalFlags(command).action((hosts, flags) =>
    run(context, command, (fleet) => {
      const { parallel, timeout } = flags;
      const names = hostsOf(fleet, hosts, flags);
      const operation = { kind: 'delete', hosts: names, parallel, timeoutMs: timeout * 1_000 } as const;
      return { operation, title: `Delete ${named(names)}` };
    }),
  );
  return addHelp(command, [['berth rehearse delete --in rack=r12', 'a rack that is to be taken away']], EXITS);
}

function buildCommand(context: Context): CommandUnknownOpts {
  const command = addAdmissionFlags(addRequestFlags(new Command('build')))
    .description('Rehearse berth build --wait: how many fit, when they run, and which instances they preempt.')
    .option('--count <n>', 'instances, all placed or none', amount, 1)
    .option('--min-count <n>', 'a gang: so many of --count must become ACTIVE, or none stays', amount)
    .option('--timeout <seconds>', 'time limit until all are ACTIVE', amount, 3_600);
  addRehearsalFlags(command).action((flags) =>
    run(context, command, () => {
      const { count, minCount, timeout } = flags;
      const spec = requestSpecOf(flags, []);
      // The same in each rehearsal, so that it shows which of them are refused.
      const instanceUuids = Array.from({ length: count }, () => context.random.uuid());
      const gang = minCount === undefined ? {} : { minCount };
      const request = { spec, count, ...gang, admission: admissionOf(flags), name: 'rehearsed', instanceUuids };
      const operation = { kind: 'build', request, timeoutMs: timeout * 1_000 } as const;
      return { operation, title: `Build ${counted(count, 'instance')}` };
    }),
  );
  return addHelp(
    command,
    [
      ["berth rehearse build --flavor worker --count 200 --fail-if 'built<200'", 'do 200 more of them fit'],
      ['berth rehearse build --vcpu 8 --count 16 --min-count 12', 'a gang'],
      ['berth rehearse build --vcpu 8 --wait-for-capacity 10m --priority 50 --preempt', 'who would give way'],
    ],
    EXITS,
  );
}

function trafficCommand(context: Context): CommandUnknownOpts {
  const command = new Command('traffic').description(
    'Rehearse the last requests of tenants, from a record of decisions, with other settings: which find no host?',
  );
  addRehearsalFlags(command).action(() =>
    run(context, command, () => ({ operation: { kind: 'traffic' }, title: 'What tenants did' })),
  );
  return addHelp(
    command,
    [
      [
        'berth rehearse traffic --traffic 3600 --set BERTH_SCHEDULER_PROFILE=pack',
        'the last hour, with another profile',
      ],
      ["berth rehearse traffic --traffic 3600 --fail-if 'unplaced>0'", 'could the fleet take that hour once more'],
    ],
    EXITS,
  );
}

function saveCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('save')
    .description('Save the present fleet to a file, for --from; the fleet is only read.')
    .argument('<file>', 'the file to write; compressed if its name ends in .gz');
  addSettingFlags(command, STORE_SETTINGS).action(async (file) => {
    const { placement } = readSettings(STORE_SETTINGS, command, context.env);
    const snapshot = await readFleet(context, undefined, placement);
    await saveFleet(snapshot, file);
    terminal.print(
      `saved ${counted(snapshot.instances.length, 'record')} and what the placement store keeps to ${file}`,
    );
  });
  return addHelp(command, [
    ['berth rehearse save fleet.json.gz', 'it names projects, hosts and instances; keep it as you keep a backup'],
    ['berth rehearse lose host-7 --from fleet.json.gz', 'without a connection to the store'],
  ]);
}
