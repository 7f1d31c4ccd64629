import { Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { InstanceEvent } from '#libs/contracts/instance';
import { ON_LOSS } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import { EXIT } from '#libs/runtime/exit-codes';
import { addAnswerFlags, showAnswer } from '../../answers/answer';
import { clientSettings } from '../../client/client-options';
import { ownProject, withClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';
import { addAdmissionFlags, admissionOf } from './admission-flags';
import { type MembersFlag, parseMembers } from './members-flag';
import { addRequestFlags, hostName, requestSpecOf, reservationOption, withMeantInstances } from './request-flags';
import { ended, requested } from './show-outcome';
import { preferWithinOption, withinOf, withinOption } from './within-flags';

/** `berth build`: requests instances; with --wait, prints their outcome. */
export function buildCommand(context: Context): CommandUnknownOpts {
  const asking = addAdmissionFlags(addRequestFlags(new Command('build')))
    .optionsGroup('Gangs within one domain:')
    .addOption(withinOption())
    .addOption(preferWithinOption())
    .optionsGroup('Count, name and waiting:')
    .option('--count <n>', 'instances, all placed or none', amount, 1)
    .option('--min-count <n>', 'a gang: at least this many of --count become ACTIVE, or none stays', amount)
    .addOption(
      repeatable(
        '--members <NAME:KEY=VALUE,...>',
        'further members of the gang, of another size; keys: count, min, flavor, or amounts',
        parseMembers,
      ),
    )
    .addOption(onLossOption())
    .option('--name <name>', 'name; with --count: name-1, name-2, ...', 'instance')
    .addOption(repeatable('--host <name>', 'only on this host', hostName))
    .addOption(reservationOption())
    .option('--wait', 'wait until each is ACTIVE or in ERROR', false)
    .option('--timeout <seconds>', 'time limit of --wait', amount, 300);
  const command = addAnswerFlags(asking);
  addSettingFlags(command, clientSettings).action(async (flags) => {
    const { host, count, minCount, name, wait, timeout, members, onLoss, reservation } = flags;
    if (minCount !== undefined && minCount > count) {
      throw usageError('--min-count is above --count', 'at most all can become ACTIVE');
    }
    if (onLoss && minCount === undefined && members.length === 0) {
      throw usageError('--on-loss is for a gang', 'say --min-count, or --members');
    }
    const spec = { ...requestSpecOf(flags, host, ownProject(context, command)), reservation };
    const rest = { count, name, onLoss, admission: admissionOf(flags), ...(minCount && { minCount }) };
    await withClient(context, command, async (client) => {
      const own = await withMeantInstances(client, spec);
      const furtherMembers = members.map((kind) => furtherMembersOf(own, kind));
      const request = { ...rest, spec: own, furtherMembers, within: withinOf(flags) };
      if (!wait) return showAnswer(context, flags, async () => requested(await client.build(request)));
      const events = await client.buildAndWait(request, { timeoutMs: timeout * 1000 });
      const isEnough = [{ count, minCount: minCount ?? count }, ...members].every(isMet(events));
      if (!isEnough) context.exit(EXIT.failed);
      return showAnswer(context, flags, async () => ended(events));
    });
  });
  return addHelp(command, EXAMPLES, [[EXIT.failed, 'with --wait: an instance, or of a gang too many, ended in ERROR']]);
}

const EXAMPLES: Parameters<typeof addHelp>[1] = [
  ['berth build --vcpu 2 --memory-mb 2048 --disk-gb 20 --wait', 'one instance, and see where it went'],
  ['berth build --flavor web --count 3 -o name', 'the UUIDs alone, for a script'],
  ['berth build --vcpu 1 --memory-mb 512 --count 3 --group web:anti-affinity', 'three, each on its own host'],
  ['berth build --flavor worker --count 8 --min-count 6 --wait', 'a gang: six to eight, or none'],
  [
    'berth build --flavor worker --count 8 --min-count 6 --on-loss restore',
    'the same, and a member that a host loses is built again',
  ],
  [
    'berth build --flavor large --name leader --members worker:count=8,min=6,flavor=worker --wait',
    'a gang of two sizes: one leader, six to eight workers',
  ],
  [
    'berth build --flavor worker --count 8 --min-count 8 --within block --prefer-within rack',
    'in one block, and in one rack if one has room',
  ],
  [
    'berth build --disk-gb 20 --request-group numa0:resources=VCPU:2,MEMORY_MB:2048',
    'processors and memory from one NUMA node',
  ],
  ['berth build --vcpu 8 --wait-for-capacity 10m --time-limit 2h', 'waits for room, and ends after two hours'],
  ['berth build --flavor worker --count 4 --reservation night', 'in what is held for the project from its window on'],
  ['berth build --vcpu 8 --wait-for-capacity 10m --priority 50 --preempt', 'takes the place of less important ones'],
  ['berth build --vcpu 4 --trait HW_CPU_X86_AVX2 --prefer-trait STORAGE_DISK_SSD', 'must have one, would like one'],
];

function onLossOption() {
  return new Option(
    '--on-loss <what>',
    'of a gang, when members that were ACTIVE are lost: build them again, or end it once it is below its minimum',
  ).choices(ON_LOSS);
}

/** Another kind asks for what the command asks for, in its own size. */
function furtherMembersOf(own: RequestSpec, { name, count, minCount, size }: MembersFlag) {
  const sized = {
    flavor: undefined,
    resources: {},
    extraSpecs: {},
    preferredResources: {},
    requestGroups: [],
    ...size,
  };
  return { name, count, minCount, spec: { ...own, ...sized } };
}

/** Tells whether each kind of the gang, whose instances come one kind after the other, has as many ACTIVE as it needs. */
function isMet(events: readonly InstanceEvent[]) {
  let from = 0;
  return ({ count, minCount }: Pick<MembersFlag, 'count' | 'minCount'>) => {
    const ofKind = events.slice(from, from + count);
    from += count;
    return ofKind.filter(({ state }) => state === 'active').length >= (minCount || count);
  };
}
