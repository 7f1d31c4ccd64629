import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { showAnswer } from '../../answers/answer';
import type { PlacementClient } from '../../client/placement-client';
import type { ProviderDocument } from '../../client/placement-documents';
import { parameter } from '../../client/placement-http';
import { readStocks, readTrees } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { listingCommand, sorted } from '../../views/listing';
import { providerTable } from '../../views/provider-table';
import { compareNames } from '../../views/tree-table';
import { addFilterFlags, queryOf } from '../filter-flags';
import { amount } from '../number-flags';
import { providerShowCommand } from './provider-show';
import { providerTreeCommand } from './provider-tree';

/** `berth provider list | show | tree` */
export function providerCommand(context: Context): CommandUnknownOpts {
  return new Command('provider')
    .addCommand(listCommand(context))
    .addCommand(providerShowCommand(context))
    .addCommand(providerTreeCommand(context));
}

/** Placement has no age of a provider; its generation counts writes. */
const listing = {
  nameOf: ({ name }: ProviderDocument) => name,
  sorts: { generation: ({ generation }: ProviderDocument) => generation },
};

function listCommand(context: Context): CommandUnknownOpts {
  const named = listingCommand('list', listing)
    .description('List resource providers and their usage.')
    .optionsGroup('Only those:')
    .option('--name <name>', 'with exactly this name');
  const command = addFilterFlags(named)
    .optionsGroup('Options:')
    .option('--limit <n>', 'list at most this many', amount, 50);
  usePlacement(context, command, (client, flags) =>
    showAnswer(context, flags, async () => {
      const { name, limit } = flags;
      const found = await client.providers([...parameter('name', name), ...(await queryOf(client, flags))]);
      const inOrder = sorted(found.toSorted(compareNames), flags, listing);
      const shown = await readStocks(client, inOrder.slice(0, limit));
      const known = await ancestors(client, shown);
      return {
        plain: { resource_providers: shown, found: found.length },
        names: shown.map(listing.nameOf),
        draw(terminal, isWide) {
          if (found.length === 0) return terminal.note('no provider matches');
          terminal.print(providerTable(terminal, shown, known, isWide));
          if (found.length > shown.length) terminal.note(`${shown.length} of ${found.length}: --limit shows more`);
        },
      };
    }),
  );
  return addHelp(command, [
    ['berth provider list', 'what there is and how full it is'],
    ['berth provider list --resources VCPU:8,MEMORY_MB:16384', 'who has room for so much'],
    ["berth provider list --required 'HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED'", 'with one trait and without another'],
    ['berth provider list --in-tree host-7 --json', 'one tree, for a program'],
  ]);
}

/** The shown providers with, at least, their parents and roots. */
async function ancestors(
  client: PlacementClient,
  shown: readonly ProviderDocument[],
): Promise<ReadonlyMap<string, ProviderDocument>> {
  const known = new Map(shown.map((provider) => [provider.uuid, provider]));
  const isUnknown = (uuid: string | null) => uuid !== null && !known.has(uuid);
  const incomplete = shown.filter((p) => isUnknown(p.parent_provider_uuid) || isUnknown(p.root_provider_uuid));
  const roots = incomplete.map((provider) => provider.root_provider_uuid);
  return new Map([...known, ...(await readTrees(client, roots))]);
}
