import { Command, Option } from 'commander';
import { EXIT } from '#libs/runtime/exit-codes';
import type { PlacementClient } from '../../client/placement-client';
import { parameter, type Query } from '../../client/placement-http';
import { readTrees, withNames } from '../../client/providers';
import { addPlacementFlags, placementFor } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { candidateTable } from '../../views/candidate-table';
import { formatNumber } from '../../views/format';
import { table } from '../../views/table';
import { addFilterFlags, collect, type Filter, queryOf } from '../filter-flags';
import { addGroup, amountsIn, type Group } from '../group-flag';
import { amount } from '../number-flags';
import { countByCondition } from './condition-counts';

interface Flags extends Filter {
  readonly group: readonly Group[];
  readonly groupPolicy?: string;
  readonly sameSubtree: readonly string[];
  readonly rootRequired?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** `berth candidates`: allocation candidates for a request, from the placement API. */
export function candidatesCommand(context: Context): Command {
  const command = new Command('candidates')
    .description('List allocation candidates: which providers could take a request together. Nothing is claimed.')
    .optionsGroup('What is asked for:');
  addFilterFlags(command)
    .option('--root-required <TRAIT,...>', "traits of the tree's root, !TRAIT without")
    .optionsGroup('Request groups, each met by one provider:')
    .option(
      '--group <NAME:KEY=VALUE,...>',
      'keys: resources, required, forbidden, member_of, in_tree; may be given again',
      addGroup,
      [],
    )
    .addOption(
      new Option(
        '--group-policy <policy>',
        'whether groups may share a provider (none) or not (isolate); none when there are several groups',
      ).choices(['none', 'isolate']),
    )
    .option(
      '--same-subtree <NAME,...>',
      'groups below one ancestor, itself one of their providers; may be given again',
      collect,
      [],
    )
    .optionsGroup('Options:')
    .option('--limit <n>', 'at most so many candidates', amount, 10)
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(() => candidates(context, placementFor(context, command), command.opts<Flags>()));
  return addHelp(
    command,
    [
      ['berth candidates --resources VCPU:4,MEMORY_MB:8192', 'which providers, and what is left of them then'],
      [
        "berth candidates --resources VCPU:2 --group 'net:resources=SRIOV_NET_VF:1,required=CUSTOM_PHYSNET_1'",
        'with a network device of one physical network',
      ],
      [
        'berth candidates --group numa:resources=VCPU:2 --group gpu:resources=VGPU:1 --same-subtree numa,gpu',
        'CPUs and a GPU of the same NUMA node',
      ],
    ],
    [[EXIT.failed, 'there is no candidate']],
  );
}

async function candidates(context: Context, client: PlacementClient, flags: Flags): Promise<void> {
  const { terminal } = context;
  const groups = groupsOf(flags);
  const found = await client.candidates(await candidateQuery(client, groups, flags));
  const isEmpty = found.allocation_requests.length === 0;
  if (isEmpty) context.exit(EXIT.failed);
  const roots = Object.values(found.provider_summaries).map((summary) => summary.root_provider_uuid);
  const providers = await readTrees(client, roots);
  if (flags.json) {
    return terminal.json({ ...found, provider_summaries: withNames(found.provider_summaries, providers) });
  }
  if (isEmpty) return explainNone(context, client, groups);
  terminal.print(candidateTable(terminal, found, groups, providers));
  if (found.allocation_requests.length === flags.limit) {
    terminal.note(`the first ${flags.limit}; there may be more: --limit shows them`);
  }
}

/** The request groups; the conditions outside of named groups, if any, are the group without a suffix. */
function groupsOf({ group, resources, required, forbidden, memberOf, inTree }: Flags): Group[] {
  const hasPlain = (resources ?? inTree) !== undefined || required.length + forbidden.length + memberOf.length > 0;
  const plain = { suffix: '', required, forbidden, memberOf };
  const sized = { ...plain, ...(resources === undefined ? {} : { resources }) };
  return [...(hasPlain ? [{ ...sized, ...(inTree === undefined ? {} : { inTree }) }] : []), ...group];
}

async function candidateQuery(client: PlacementClient, groups: readonly Group[], flags: Flags): Promise<Query> {
  const conditions = await Promise.all(groups.map((group) => queryOf(client, group, group.suffix)));
  // Placement requires a policy when two groups have suffixes.
  const policy = flags.groupPolicy ?? (flags.group.length > 1 ? 'none' : undefined);
  return [
    ...conditions.flat(),
    ...parameter('group_policy', policy),
    ...parameter('same_subtree', ...flags.sameSubtree),
    ...parameter('root_required', flags.rootRequired),
    ...parameter('limit', String(flags.limit)),
  ];
}

async function explainNone({ terminal }: Context, client: PlacementClient, groups: readonly Group[]): Promise<void> {
  const { bold, red } = terminal.colours;
  const conditions = await countByCondition(client, groups);
  const rows = conditions.map(({ suffix, condition, providerCount }) => [
    suffix || '-',
    condition,
    providerCount === 0 ? red('none') : formatNumber(providerCount),
  ]);
  terminal.print(
    bold('There is no candidate: no tree, with the providers that share with it, meets the whole request.'),
  );
  terminal.print(`\n${table(terminal, ['GROUP', 'CONDITION', 'PROVIDERS THAT MEET IT'], rows)}`);
  const isEachMet = conditions.every(({ providerCount }) => providerCount > 0);
  const amounts = groups.flatMap(({ resources = '' }) => amountsIn(resources));
  const flags = amounts.map((it) => `--resource ${it.replace(':', '=')}`).join(' ');
  const next = isEachMet ? `berth provider list --resources ${amounts.join(',')}` : 'berth provider tree';
  terminal.note(`${bold('next:')} ${next}   (who has what)`);
  terminal.note(`      berth explain ${flags}   (what the scheduler's filters refuse, and why)`);
}
