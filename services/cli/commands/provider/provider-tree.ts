import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { counted } from '#libs/runtime/counted';
import { type Answer, answerCommand, showAnswer } from '../../answers/answer';
import type { PlacementClient } from '../../client/placement-client';
import type { ProviderDocument } from '../../client/placement-documents';
import { findProvider, readStocks, type StockedProvider } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { compareNames, treeTable } from '../../views/tree-table';
import { amount } from '../number-flags';

/** Placement's trait of providers that share their inventories with the trees of their aggregates. */
const SHARES = 'MISC_SHARES_VIA_AGGREGATE';

/** `berth provider tree` */
export function providerTreeCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('tree')
    .description('Draw trees of providers, with the usage of each.')
    .argument('[provider]', 'UUID or name of any provider of the tree; all trees when not given')
    .option('--limit <n>', 'list at most this many trees', amount, 20);
  usePlacement(context, command, (client, flags, uuidOrName) =>
    showAnswer(context, flags, () =>
      uuidOrName === undefined ? readAll(client, flags.limit) : readOne(client, uuidOrName),
    ),
  );
  return addHelp(command, [
    ['berth provider tree host-7', 'the tree of a host, and who shares with it'],
    ['berth provider tree host-7-numa-0', 'the same tree: any of its providers names it'],
    ['berth provider tree --limit 100', 'all trees'],
  ]);
}

async function readAll(client: PlacementClient, limit: number): Promise<Answer> {
  const [all, sharing] = await Promise.all([client.providers(), client.providers([['required', SHARES]])]);
  const roots = all.filter((provider) => provider.parent_provider_uuid === null).toSorted(compareNames);
  const shownRoots = new Set(roots.slice(0, limit).map(({ uuid }) => uuid));
  const shown = all.filter((provider) => shownRoots.has(provider.root_provider_uuid));
  const stocked = await readStocks(client, shown);
  return {
    plain: { resource_providers: stocked, trees: roots.length },
    names: stocked.map(({ name }) => name),
    draw(terminal) {
      if (roots.length === 0) return terminal.print('There are no providers yet.');
      terminal.print(treeTable(terminal, [stocked], { sharing }));
      if (roots.length > shownRoots.size) {
        terminal.note(`${shownRoots.size} of ${counted(roots.length, 'tree')}: --limit shows more, a name shows one`);
      }
    },
  };
}

async function readOne(client: PlacementClient, of: string): Promise<Answer> {
  const asked = await findProvider(client, of);
  const tree = await client.providers([['in_tree', asked.uuid]]);
  const [stocked, sharing] = await Promise.all([readStocks(client, tree), sharingWith(client, tree)]);
  return {
    plain: { resource_providers: stocked, sharing_providers: sharing },
    names: stocked.map(({ name }) => name),
    draw: (terminal) => terminal.print(treeTable(terminal, [stocked, sharing], { sharing, asked })),
  };
}

/** Providers outside a tree that share with it through its aggregates. */
async function sharingWith(client: PlacementClient, tree: readonly ProviderDocument[]): Promise<StockedProvider[]> {
  const aggregates = new Set((await Promise.all(tree.map(({ uuid }) => client.aggregates(uuid)))).flat());
  if (aggregates.size === 0) return [];
  const found = await client.providers([
    ['member_of', `in:${[...aggregates].join(',')}`],
    ['required', SHARES],
  ]);
  const outside = found.filter(({ uuid }) => !tree.some((member) => member.uuid === uuid));
  return readStocks(client, outside.toSorted(compareNames));
}
