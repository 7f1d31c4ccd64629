import { type Command, Option } from '@commander-js/extra-typings';
import type { GroupView } from '#libs/contracts/groups';
import { withinInWords } from '#libs/domain/grouping/within-in-words';
import { GROUP_POLICIES } from '#libs/domain/server-group';
import { changes, lists, noun, shows } from '../../answers/declared';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { ageOf } from '../../views/format';
import type { Listing } from '../../views/listing';
import { pairs } from '../../views/pairs';
import { facts } from '../../views/table';
import { groupName, keyAndValue } from '../build/request-flags';
import { domainName, preferWithinOption, withinOf, withinOption } from '../build/within-flags';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';

const PROJECT = ['--project <id>', 'project; for a tenant its own, else default'] as const;

/** `berth group create | list | show | delete` */
export const groupCommand = noun('group', [
  changes({
    name: 'create',
    does: 'Add a group without members.',
    takes: (command: Command) =>
      command
        .argument('<name>', 'group', groupName)
        .addOption(withinOption())
        .addOption(preferWithinOption())
        .addOption(
          new Option(
            '--policy <policy>',
            'the placement of members; with --spread or --within the default is soft-anti-affinity',
          ).choices(GROUP_POLICIES),
        )
        .option('--max-per-host <n>', 'members of an anti-affinity group on one host (max_server_per_host)', amount, 1)
        .option(
          '--spread <name>',
          'spread members evenly over zones (zone), or over the values of another metadata key of aggregates (rack)',
        )
        .option('--max-skew <n>', 'largest difference of members between zones or racks; default 1', amount)
        .option(
          '--count-unavailable',
          'also count zones or racks whose hosts are all down or disabled: members wait for them',
          false,
        )
        .option('--min-available <n>', 'members that drains and preemption leave available, or a percentage')
        .option('--max-unavailable <n>', 'members that may be unavailable when they interrupt one, or a percentage')
        .addOption(repeatable('--property <key=value>', 'metadata', keyAndValue))
        .option(...PROJECT),
    async call({ groups, projectId: own = 'default' }, flags, name) {
      const { policy = 'soft-anti-affinity', maxPerHost, spread, maxSkew = 1, property, project = own } = flags;
      const isOfSpread = flags.maxSkew !== undefined || flags.countUnavailable;
      const within = withinOf(flags);
      const hasRules = spread !== undefined || within !== undefined || flags.policy !== undefined;
      if (!hasRules || (spread === undefined && isOfSpread)) {
        throw usageError('the group has no rules', 'say --policy, --within, or --spread and --max-skew');
      }
      const waits = flags.countUnavailable ? { countUnavailable: true } : {};
      const evenly = spread === undefined ? {} : { spread: { by: domainName(spread), maxSkew, ...waits } };
      const budget = Object.entries({ min_available: flags.minAvailable, max_unavailable: flags.maxUnavailable });
      const given = budget.filter((entry): entry is [string, string] => entry[1] !== undefined);
      const metadata = Object.fromEntries([...property, ...given]);
      return groups.create({
        projectId: project,
        name,
        policy,
        maxPerHost,
        ...evenly,
        ...(within && { within }),
        metadata,
      });
    },
    print,
    examples: [
      ['berth group create web --policy anti-affinity', 'no two on one host'],
      ['berth group create web --policy anti-affinity --max-per-host 2', 'at most two'],
      ['berth group create web --policy anti-affinity --max-unavailable 1', 'a drain interrupts one at a time'],
      ['berth group create web --spread zone', 'evenly over the availability zones'],
      ['berth group create web --policy anti-affinity --spread rack --max-skew 2', 'over racks, each on its own host'],
      [
        'berth group create db --within block --prefer-within rack',
        'all in one block, and in one rack while there is room',
      ],
      ['berth build --group web --flavor m1.small', 'a member of it'],
    ],
  }),
  lists({
    does: 'List the groups of your project; operators see all.',
    takes: (command: Command) => command.option('--project <id>', 'of this project only'),
    listing: ({ clock }: Context): Listing<GroupView> => ({
      nameOf: ({ name }) => name,
      whenNone: 'no groups',
      sorts: {
        age: ({ createdAtMs }) => -createdAtMs,
        project: ({ projectId }) => projectId,
        members: ({ memberCount }) => memberCount,
      },
      columns: [
        { head: 'PROJECT', cell: ({ projectId }) => projectId },
        { head: 'GROUP', cell: ({ name }) => name },
        { head: 'RULES', cell: rulesOf },
        { head: 'MEMBERS', cell: ({ memberCount }) => memberCount },
        { head: 'METADATA', cell: ({ metadata }) => pairs(metadata) || '-' },
        { head: 'AGE', cell: ({ createdAtMs }) => ageOf(clock, createdAtMs) },
      ],
    }),
    call: ({ groups, projectId: own }, { project = own }) => groups.list(project),
    examples: [['berth group list', 'what there is to belong to']],
  }),
  shows({
    name: 'show',
    does: 'Show one group and its members.',
    takes: (command: Command) => command.argument('<name>', 'group', groupName).option(...PROJECT),
    async call({ groups, projectId: own = 'default' }, { project = own }, name) {
      const { members, ...group } = await groups.show(project, name);
      const draw = (context: Context) => print(context, group, [['members', members.join(' ') || '-']]);
      return { plain: { ...group, members }, names: [name], draw };
    },
    examples: [['berth group show web', 'its rules and its members']],
  }),
  changes({
    name: 'delete',
    does: 'Delete a group; its members stay where they are.',
    takes: (command: Command) => command.argument('<name>', 'group', groupName).option(...PROJECT),
    call: ({ groups, projectId: own = 'default' }, { project = own }, name) => groups.delete(project, name),
    print: ({ terminal }, { name }) => terminal.print(`${name} is deleted`),
    examples: [['berth group delete web', 'nothing more joins it']],
  }),
]);

function print(
  { terminal, clock }: Context,
  group: GroupView,
  more: readonly (readonly [string, string])[] = [],
): void {
  const { projectId, name, metadata, createdAtMs, memberCount } = group;
  terminal.print(
    facts(terminal, [
      ['group', name],
      ['project', projectId],
      ['rules', rulesOf(group)],
      ['metadata', pairs(metadata) || '-'],
      ['member count', String(memberCount)],
      ...more,
      ['created', `${ageOf(clock, createdAtMs)} ago`],
    ]),
  );
}

function rulesOf({ policy, maxPerHost, spread, within }: GroupView): string {
  const onHosts = policy === 'anti-affinity' ? `${policy}, ${maxPerHost} on a host` : policy;
  if (within) return `${onHosts}, ${withinInWords(within)}`;
  if (spread === undefined) return onHosts;
  const waits = spread.countUnavailable ? ', waiting for those without a host in service' : '';
  return `${onHosts}, over ${spread.by} with skew ${spread.maxSkew}${waits}`;
}
