import { Command } from 'commander';
import type { PlacementClient } from '../../client/placement-client';
import { parameter } from '../../client/placement-http';
import { readStock, readTrees, type StockedProvider } from '../../client/providers';
import { addPlacementFlags, placementFor } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { providerTable } from '../../views/provider-table';
import { compareNames } from '../../views/tree-table';
import { addFilterFlags, type Filter, queryOf } from '../filter-flags';
import { amount } from '../number-flags';
import { providerShowCommand } from './provider-show';
import { providerTreeCommand } from './provider-tree';

interface Flags extends Filter {
  readonly name?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** `berth provider list | show | tree` */
export function providerCommand(context: Context): Command {
  return new Command('provider')
    .description('See resource providers: their trees, what they have, how full they are.')
    .addCommand(listCommand(context))
    .addCommand(providerShowCommand(context))
    .addCommand(providerTreeCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command('list')
    .description('List resource providers, and how full they are.')
    .optionsGroup('Only those:')
    .option('--name <name>', 'with exactly this name');
  addFilterFlags(command)
    .optionsGroup('Options:')
    .option('--limit <n>', 'at most so many', amount, 50)
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(() => list(context, placementFor(context, command), command.opts<Flags>()));
  return addHelp(command, [
    ['berth provider list', 'what there is and how full it is'],
    ['berth provider list --resources VCPU:8,MEMORY_MB:16384', 'who has room for so much'],
    ["berth provider list --required 'HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED'", 'with one trait and without another'],
    ['berth provider list --in-tree host-7 --json', 'one tree, for a program'],
  ]);
}

async function list({ terminal }: Context, client: PlacementClient, flags: Flags): Promise<void> {
  const found = await client.providers([...parameter('name', flags.name), ...(await queryOf(client, flags))]);
  const shown = await readStock(client, found.toSorted(compareNames).slice(0, flags.limit));
  if (flags.json) return terminal.json({ resource_providers: shown, found: found.length });
  if (found.length === 0) return terminal.note('no provider matches');
  terminal.print(providerTable(terminal, shown, await ancestors(client, shown)));
  if (found.length > shown.length) terminal.note(`${shown.length} of ${found.length}: --limit shows more`);
}

/** Names by UUID of the shown providers and of their parents and roots. */
async function ancestors(
  client: PlacementClient,
  shown: readonly StockedProvider[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map(shown.map(({ uuid, name }) => [uuid, name]));
  const incomplete = shown.filter((p) =>
    [p.parent_provider_uuid ?? p.uuid, p.root_provider_uuid].some((it) => !names.has(it)),
  );
  const trees = await readTrees(
    client,
    incomplete.map((provider) => provider.root_provider_uuid),
  );
  for (const { uuid, name } of trees.values()) names.set(uuid, name);
  return names;
}
