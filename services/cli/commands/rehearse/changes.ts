import { Argument, Command, type CommandUnknownOpts, InvalidArgumentError } from '@commander-js/extra-typings';
import { requestSpec } from '#libs/domain/request-spec';
import { counted } from '#libs/runtime/counted';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { goalWith, NO_GOAL } from '../../rebalance/goal';
import { amountOfClass, flavorName, keyAndValue } from '../build/request-flags';
import { amount } from '../number-flags';
import { addSubject, limitOfClass, subjectOf } from '../quota/quota';
import { repeatable } from '../repeatable-flag';
import { addRehearsalFlags, hostsCommand } from './rehearsal-flags';
import { EXITS, hostsOf, named, run } from './run';

/** `berth rehearse upgrade`. */
export function upgradeCommand(context: Context): CommandUnknownOpts {
  const command = hostsCommand(
    'upgrade',
    'Rehearse a roll-out host by host: each is drained, its agent stops for a time, and it is enabled again.',
  )
    .option('--stopped <seconds>', 'time for which the agent of a host is away', amount, 60)
    .option('--parallel <n>', 'instances moved at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one instance', amount, 600);
  addRehearsalFlags(command).action((hosts, flags) =>
    run(context, command, (fleet) => {
      const { parallel, timeout, stopped } = flags;
      const names = hostsOf(fleet, hosts, flags);
      const limits = { parallel, timeoutMs: timeout * 1_000, stoppedMs: stopped * 1_000 };
      return { operation: { kind: 'upgrade', hosts: names, ...limits }, title: `Upgrade ${named(names)}, one by one` };
    }),
  );
  return addHelp(
    command,
    [["berth rehearse upgrade --in rack=r12 --stopped 120 --fail-if 'refused>0'", 'which instances would hold it up']],
    EXITS,
  );
}

/** `berth rehearse rebalance`. */
export function rebalanceCommand(context: Context): CommandUnknownOpts {
  const command = new Command('rebalance')
    .description('Rehearse berth rebalance --apply: its plan, made anew each time, and the moves that fail.')
    .addOption(repeatable('--empty <host>', 'move every instance off this host', (text) => text))
    .addOption(repeatable('--admit <CLASS=N>', 'free capacity on one host for a request of this size', amountOfClass))
    .option('--even-out', 'even out the use of the fullest and the emptiest hosts', false)
    .option('--defragment <moves>', 'free capacity for more instances, with at most this many moves', amount)
    .option('--parallel <n>', 'instances to move at once', amount, 4)
    .option('--timeout <seconds>', 'time limit for one move', amount, 600);
  addRehearsalFlags(command).action((flags) =>
    run(context, command, (fleet) => {
      const { parallel, timeout, empty } = flags;
      const hosts = empty.length === 0 ? [] : hostsOf(fleet, empty, { in: [] });
      const goal = goalWith(hosts, { ...NO_GOAL, ...flags }, notOneGoal);
      const operation = { kind: 'rebalance', goal, parallel, timeoutMs: timeout * 1_000 } as const;
      return { operation, title: `Rebalance, to ${goal.kind.replace('_', ' ')}` };
    }),
  );
  return addHelp(
    command,
    [
      ['berth rehearse rebalance --even-out', 'how many moves, and how long'],
      ['berth rehearse rebalance --defragment 50 --kill conductor', 'while conductors die'],
    ],
    EXITS,
  );
}

function notOneGoal() {
  return usageError('say one goal', 'berth rehearse rebalance --even-out');
}

/** `berth rehearse quota`. */
export function quotaCommand(context: Context): CommandUnknownOpts {
  const command = addSubject(new Command('quota'))
    .description(
      'Rehearse limits of a quota: the instances that waited for it and are then built, and what is refused.',
    )
    .argument('<class=n...>', 'limits on resource classes or on instances; -1 is none');
  addRehearsalFlags(command).action((limits, flags) =>
    run(context, command, () => {
      const projectId = subjectOf(flags.project, flags.default) ?? '';
      const change = { limits: Object.fromEntries(limits.map(limitOfClass)) };
      const title = projectId === '' ? 'Set the default quota' : `Set the quota of ${projectId}`;
      return { operation: { kind: 'quota', projectId, change }, title };
    }),
  );
  return addHelp(
    command,
    [
      ['berth rehearse quota --project lab VCPU=200 instances=100', 'which of those that wait would run'],
      [
        "berth rehearse quota --project lab VCPU=50 --traffic 3600 --fail-if 'unplaced>0'",
        'would the requests of the last hour still be served',
      ],
    ],
    EXITS,
  );
}

/** `berth rehearse flavor`. */
export function flavorCommand(context: Context): CommandUnknownOpts {
  const command = new Command('flavor')
    .description('Rehearse berth flavor set and unset, and builds of the flavor: how many fit then.')
    .argument('<name>', 'flavor', flavorName)
    .addOption(repeatable('--extra-spec <key=value>', 'an extra spec to set', keyAndValue))
    .addOption(repeatable('--unset <key>', 'the key of an extra spec to remove', String))
    .option('--count <n>', 'instances to build of it then, all placed or none', amount, 1)
    .option('--timeout <seconds>', 'time limit until all are ACTIVE', amount, 3_600);
  addRehearsalFlags(command).action((name, flags) =>
    run(context, command, () => {
      const { extraSpec, unset, count, timeout } = flags;
      const change = { setExtraSpecs: Object.fromEntries(extraSpec), unsetExtraSpecs: unset };
      const instanceUuids = Array.from({ length: count }, () => context.random.uuid());
      const who = { projectId: 'default', userId: 'operator' };
      const spec = requestSpec({}, { ...who, flavor: { name, version: 0 } });
      const build = { request: { spec, count, name: 'rehearsed', instanceUuids }, timeoutMs: timeout * 1_000 };
      const title = `Change the flavor ${name}, and build ${counted(count, 'instance')} of it`;
      return { operation: { kind: 'flavor', name, change, build: count === 0 ? undefined : build }, title };
    }),
  );
  return addHelp(
    command,
    [
      [
        "berth rehearse flavor m1.small --extra-spec trait:STORAGE_DISK_SSD=required --count 20 --fail-if 'built<20'",
        'do 20 of them fit on SSDs',
      ],
    ],
    EXITS,
  );
}

/** `berth rehearse outage`. */
export function outageCommand(context: Context): CommandUnknownOpts {
  const command = new Command('outage')
    .description('Rehearse that the broker or the store is away for a time, while tenants go on (--traffic).')
    .addArgument(new Argument('<server>', 'broker or store').argParser(server))
    .option('--seconds <n>', 'time for which it is away', amount, 60);
  addRehearsalFlags(command).action((of, { seconds }) =>
    run(context, command, () => {
      return { operation: { kind: 'outage', of, forMs: seconds * 1_000 }, title: `The ${of} is away for ${seconds} s` };
    }),
  );
  return addHelp(
    command,
    [["berth rehearse outage broker --seconds 120 --traffic 600 --fail-if 'unplaced>0'", 'is any request lost']],
    EXITS,
  );
}

function server(text: string): 'broker' | 'store' {
  if (text === 'broker' || text === 'store') return text;
  throw new InvalidArgumentError('It must be broker or store.');
}
