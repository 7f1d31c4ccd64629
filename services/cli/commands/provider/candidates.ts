import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { EXIT } from '#libs/runtime/exit-codes';
import { answerCommand, showAnswer } from '../../answers/answer';
import type { PlacementClient } from '../../client/placement-client';
import { parameter } from '../../client/placement-http';
import { readTrees, withNames } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { candidateTable } from '../../views/candidate-table';
import { formatNumber } from '../../views/format';
import { table } from '../../views/table';
import { addFilterFlags, queryOf } from '../filter-flags';
import { amountsIn, type Group, parseGroup } from '../group-flag';
import { amount } from '../number-flags';
import { repeatable } from '../repeatable-flag';
import { countByCondition } from './condition-counts';

/** `berth candidates`: allocation candidates for a request, from the placement API. */
export function candidatesCommand(context: Context): CommandUnknownOpts {
  const plain = answerCommand('candidates').optionsGroup('Request:');
  const command = addFilterFlags(plain)
    .option('--root-required <TRAIT,...>', "traits of the tree's root, !TRAIT without", String)
    .optionsGroup('Request groups, each met by one provider:')
    .addOption(
      repeatable(
        '--group <NAME:KEY=VALUE,...>',
        'keys: resources, required, forbidden, member_of, in_tree',
        parseGroup,
      ),
    )
    .addOption(
      new Option(
        '--group-policy <policy>',
        'whether groups may share a provider (none) or not (isolate); none when there are several groups',
      ).choices(['none', 'isolate']),
    )
    .addOption(
      repeatable('--same-subtree <NAME,...>', 'groups below one ancestor, itself one of their providers', String),
    )
    .optionsGroup('Options:')
    .option('--ids', 'give each an id by which a client of the placement API may claim it once', false)
    .option('--limit <n>', 'list at most this many candidates', amount, 10);
  usePlacement(context, command, async (client, flags) => {
    const {
      group,
      groupPolicy,
      sameSubtree,
      rootRequired,
      limit,
      ids,
      output: _output,
      json: _json,
      ...filter
    } = flags;
    const hasPlain = Object.values(filter).some((values) => values.length > 0);
    const groups = hasPlain ? [{ ...filter, suffix: '' }, ...group] : group;
    const conditions = await Promise.all(groups.map((one) => queryOf(client, one, one.suffix)));
    const asked = [
      ...conditions.flat(),
      // Placement requires a policy for two groups with suffixes.
      ...parameter('group_policy', groupPolicy ?? (group.length > 1 ? 'none' : undefined)),
      ...parameter('same_subtree', ...sameSubtree),
      ...parameter('root_required', rootRequired),
      ...parameter('limit', String(limit)),
    ];
    const found = await client.candidates(asked, ids);
    const count = found.allocation_requests.length;
    if (count === 0) context.exit(EXIT.failed);
    const roots = Object.values(found.provider_summaries).map((summary) => summary.root_provider_uuid);
    const providers = await readTrees(client, roots);
    const isForPeople = !flags.json && (flags.output === 'table' || flags.output === 'wide');
    if (count === 0 && isForPeople) return explainNone(context, client, groups);
    await showAnswer(context, flags, async () => ({
      plain: { ...found, provider_summaries: withNames(found.provider_summaries, providers) },
      names: [...new Set(roots)].map((uuid) => providers.get(uuid)?.name ?? uuid),
      draw(terminal) {
        terminal.print(candidateTable(terminal, found, groups, providers));
        if (count === limit) terminal.note(`the first ${limit}; there may be more: --limit shows them`);
      },
    }));
  });
  return addHelp(command, EXAMPLES, [[EXIT.failed, 'there is no candidate']]);
}

const EXAMPLES = [
  ['berth candidates --resources VCPU:4,MEMORY_MB:8192', 'which providers, and what is left of them then'],
  [
    "berth candidates --resources VCPU:2 --group 'net:resources=SRIOV_NET_VF:1,required=CUSTOM_PHYSNET_1'",
    'with a network device of one physical network',
  ],
  [
    'berth candidates --group numa:resources=VCPU:2 --group gpu:resources=VGPU:1 --same-subtree numa,gpu',
    'CPUs and a GPU of the same NUMA node',
  ],
] as const;

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
