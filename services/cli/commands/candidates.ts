import { Command, Option } from 'commander';
import { EXIT } from '#libs/runtime/exit-codes';
import type { Context } from '../context';
import { amount } from '../number-flags';
import { askAlone } from '../placement/alone';
import { candidateTable } from '../placement/candidate-table';
import type { CandidatesDocument, ProviderDocument } from '../placement/documents';
import { addFilterFlags, type Filter, more, queryOf } from '../placement/filter-flags';
import { readTrees } from '../placement/find-provider';
import type { PlacementClient } from '../placement/placement-client';
import { parameter, type Query } from '../placement/placement-http';
import { addGroup, amountsIn, type Group } from '../placement/request-groups';
import { addPlacementFlags, placementFor } from '../placement/with-placement';
import { teach } from '../teach';
import { formatNumber, table } from '../terminal';

interface Flags extends Filter {
  readonly group: readonly Group[];
  readonly groupPolicy?: string;
  readonly sameSubtree: readonly string[];
  readonly rootRequired?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** `berth candidates`: where a request could go, as Placement sees it. */
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
      more,
      [],
    )
    .optionsGroup('Options:')
    .option('--limit <n>', 'at most so many candidates', amount, 10)
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(() => candidates(context, placementFor(context, command), command.opts<Flags>()));
  return teach(
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
  if (flags.json) return terminal.json(withNames(found, providers));
  if (isEmpty) return explainNone(context, client, groups);
  terminal.print(candidateTable(terminal, found, groups, providers));
  if (found.allocation_requests.length === flags.limit) {
    terminal.note(`the first ${flags.limit}; there may be more: --limit shows them`);
  }
}

/** The conditions outside of groups are one too, where there are any. */
function groupsOf({ group, resources, required, forbidden, memberOf, inTree }: Flags): Group[] {
  const isAsked = (resources ?? inTree) !== undefined || required.length + forbidden.length + memberOf.length > 0;
  const plain = { suffix: '', required, forbidden, memberOf };
  const sized = { ...plain, ...(resources === undefined ? {} : { resources }) };
  return [...(isAsked ? [{ ...sized, ...(inTree === undefined ? {} : { inTree }) }] : []), ...group];
}

async function candidateQuery(client: PlacementClient, groups: readonly Group[], flags: Flags): Promise<Query> {
  const conditions = await Promise.all(groups.map((group) => queryOf(client, group, group.suffix)));
  // Placement wants it said as soon as two groups have names.
  const policy = flags.groupPolicy ?? (flags.group.length > 1 ? 'none' : undefined);
  return [
    ...conditions.flat(),
    ...parameter('group_policy', policy),
    ...parameter('same_subtree', ...flags.sameSubtree),
    ...parameter('root_required', flags.rootRequired),
    ...parameter('limit', String(flags.limit)),
  ];
}

/** The API's document, with the names of the providers that it tells about. */
function withNames(found: CandidatesDocument, providers: ReadonlyMap<string, ProviderDocument>) {
  const summaries = Object.entries(found.provider_summaries).map(([uuid, summary]) => [
    uuid,
    { name: providers.get(uuid)?.name, ...summary },
  ]);
  return { ...found, provider_summaries: Object.fromEntries(summaries) as object };
}

async function explainNone({ terminal }: Context, client: PlacementClient, groups: readonly Group[]): Promise<void> {
  const { bold, red } = terminal.colours;
  const conditions = await askAlone(client, groups);
  const rows = conditions.map(({ suffix, condition, providerCount }) => [
    suffix || '-',
    condition,
    providerCount === 0 ? red('none') : formatNumber(providerCount),
  ]);
  terminal.print(bold('There is no candidate: no tree, with what is shared with it, meets the whole request now.'));
  terminal.print(`\n${table(terminal, ['GROUP', 'ASKED FOR, ALONE', 'PROVIDERS THAT MEET IT'], rows)}`);
  const isMetApart = conditions.every(({ providerCount }) => providerCount > 0);
  const amounts = groups.flatMap(({ resources = '' }) => amountsIn(resources));
  const flags = amounts.map((it) => `--resource ${it.replace(':', '=')}`).join(' ');
  const look = isMetApart ? `berth provider list --resources ${amounts.join(',')}` : 'berth provider tree';
  terminal.note(`${bold('next:')} ${look}   (who has what)`);
  terminal.note(`      berth explain ${flags}   (what the scheduler's filters refuse, and why)`);
}
