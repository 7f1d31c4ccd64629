import { Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { GroupView } from '#libs/contracts/groups';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { GROUP_POLICIES } from '#libs/domain/server-group';
import { answerCommand, showAnswer } from '../../answers/answer';
import { ownProject, useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { usageError } from '../../failure';
import { addHelp } from '../../help-text';
import { ageOf } from '../../views/format';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import { pairs } from '../../views/pairs';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { groupName, keyAndValue } from '../build/request-flags';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';

/** `berth group create | list | show | delete` */
export function groupCommand(context: Context): CommandUnknownOpts {
  return new Command('group')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(deleteCommand(context));
}

const PROJECT = ['--project <id>', 'project; for a tenant its own, else default'] as const;

function createCommand(context: Context): CommandUnknownOpts {
  const command = new Command('create')
    .description('Add a group without members.')
    .argument('<name>', 'group', groupName)
    .addOption(
      new Option('--policy <policy>', 'where members go; with --spread soft-anti-affinity if not given').choices(
        GROUP_POLICIES,
      ),
    )
    .option('--max-per-host <n>', 'members of an anti-affinity group on one host (max_server_per_host)', amount, 1)
    .option(
      '--spread <name>',
      'evenly over zones (zone), or the values of another name in metadata of aggregates (rack)',
    )
    .option('--max-skew <n>', 'how many more members one zone or rack may have than another; 1 if not given', amount)
    .option('--count-unavailable', 'wait for zones or racks whose hosts are all down or disabled', false)
    .option('--min-available <n>', 'members that drains and preemption leave available, or a percentage')
    .option('--max-unavailable <n>', 'members that may be unavailable when they interrupt one, or a percentage')
    .addOption(repeatable('--property <key=value>', 'metadata', keyAndValue))
    .option(...PROJECT)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, flags, name) => {
    const { policy = 'soft-anti-affinity', maxPerHost, spread, maxSkew = 1, property, project, json } = flags;
    const isOfSpread = flags.maxSkew !== undefined || flags.countUnavailable;
    if (spread === undefined && (flags.policy === undefined || isOfSpread)) {
      throw usageError('the group has no rules', 'say --policy, or --spread and --max-skew');
    }
    const projectId = project ?? ownProject(context, command) ?? 'default';
    const waits = flags.countUnavailable ? { countUnavailable: true } : {};
    const evenly = spread === undefined ? {} : { spread: { by: spreadBy(spread), maxSkew, ...waits } };
    const budget = Object.entries({ min_available: flags.minAvailable, max_unavailable: flags.maxUnavailable });
    const given = budget.filter((entry): entry is [string, string] => entry[1] !== undefined);
    const metadata = Object.fromEntries([...property, ...given]);
    const settings = { policy, maxPerHost, ...evenly, metadata };
    print(context, json, await client.groups.create({ projectId, name, ...settings }));
  });
  return addHelp(command, [
    ['berth group create web --policy anti-affinity', 'no two on one host'],
    ['berth group create web --policy anti-affinity --max-per-host 2', 'at most two'],
    ['berth group create web --policy anti-affinity --max-unavailable 1', 'a drain interrupts one at a time'],
    ['berth group create web --spread zone', 'evenly over the availability zones'],
    ['berth group create web --policy anti-affinity --spread rack --max-skew 2', 'over racks, each on its own host'],
    ['berth build --group web --flavor m1.small', 'a member of it'],
  ]);
}

function listCommand(context: Context): CommandUnknownOpts {
  const listing: Listing<GroupView> = {
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
      { head: 'AGE', cell: ({ createdAtMs }) => ageOf(context.clock, createdAtMs) },
    ],
  };
  const command = listingCommand('list', listing)
    .description('List the groups of your project; operators see all.')
    .option('--project <id>', 'of this project only');
  useClient(context, command, async (client, flags) => {
    const project = flags.project ?? ownProject(context, command);
    await showListing(context, flags, listing, () => client.groups.list(project));
  });
  return addHelp(command, [['berth group list', 'what there is to belong to']]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show one group and its members.')
    .argument('<name>', 'group', groupName)
    .option(...PROJECT);
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      const project = flags.project ?? ownProject(context, command) ?? 'default';
      const { members, ...group } = await client.groups.show(project, name);
      const more: [string, string][] = [['members', members.join(' ') || '-']];
      const draw = (terminal: Terminal) => print({ ...context, terminal }, false, group, more);
      return { plain: { ...group, members }, names: [name], draw };
    }),
  );
  return addHelp(command, [['berth group show web', 'its rules and its members']]);
}

function deleteCommand(context: Context): CommandUnknownOpts {
  const command = new Command('delete')
    .description('Delete a group; its members stay where they are.')
    .argument('<name>', 'group', groupName)
    .option(...PROJECT)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { project, json }, name) => {
    const group = await client.groups.delete(project ?? ownProject(context, command) ?? 'default', name);
    if (json) context.terminal.json(group);
    else context.terminal.print(`${name} is deleted`);
  });
  return addHelp(command, [['berth group delete web', 'nothing more joins it']]);
}

function print(
  { terminal, clock }: Context,
  json: boolean,
  group: GroupView,
  more: readonly (readonly [string, string])[] = [],
): void {
  if (json) return terminal.json(group);
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

/** `zone` is short for the metadata name of zones. */
function spreadBy(name: string): string {
  return name === 'zone' ? ZONE_KEY : name;
}

function rulesOf({ policy, maxPerHost, spread }: GroupView): string {
  const onHosts = policy === 'anti-affinity' ? `${policy}, ${maxPerHost} on a host` : policy;
  if (spread === undefined) return onHosts;
  const waits = spread.countUnavailable ? ', waiting for those without a host in service' : '';
  return `${onHosts}, over ${spread.by} with skew ${spread.maxSkew}${waits}`;
}
