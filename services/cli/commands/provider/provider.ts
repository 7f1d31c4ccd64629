import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { PlacementClient } from '../../client/placement-client';
import type { ProviderDocument } from '../../client/placement-documents';
import { parameter } from '../../client/placement-http';
import { readStocks, readTrees } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
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

function listCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const named = new Command('list')
    .description('List resource providers, and how full they are.')
    .optionsGroup('Only those:')
    .option('--name <name>', 'with exactly this name');
  const command = addFilterFlags(named)
    .optionsGroup('Options:')
    .option('--limit <n>', 'at most so many', amount, 50)
    .option('--json', 'print one JSON value', false);
  usePlacement(context, command, async (client, { name, limit, json, ...filter }) => {
    const found = await client.providers([...parameter('name', name), ...(await queryOf(client, filter))]);
    const shown = await readStocks(client, found.toSorted(compareNames).slice(0, limit));
    if (json) return terminal.json({ resource_providers: shown, found: found.length });
    if (found.length === 0) return terminal.note('no provider matches');
    terminal.print(providerTable(terminal, shown, await ancestors(client, shown)));
    if (found.length > shown.length) terminal.note(`${shown.length} of ${found.length}: --limit shows more`);
  });
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
