import { Command } from 'commander';
import type { Context } from '../context';
import { amount } from '../number-flags';
import { addFilterFlags, type Filter, queryOf } from '../placement/filter-flags';
import { readTrees } from '../placement/find-provider';
import { compareNames } from '../placement/forest';
import type { PlacementClient } from '../placement/placement-client';
import { parameter } from '../placement/placement-http';
import { providerTable } from '../placement/provider-table';
import { type StockedProvider, stock } from '../placement/stock';
import { addPlacementFlags, placementFor } from '../placement/with-placement';
import { teach } from '../teach';

interface Flags extends Filter {
  readonly name?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** `berth provider list` */
export function providerListCommand(context: Context): Command {
  const command = new Command('list')
    .description('List resource providers, and how full they are.')
    .optionsGroup('Only those:')
    .option('--name <name>', 'with exactly this name');
  addFilterFlags(command)
    .optionsGroup('Options:')
    .option('--limit <n>', 'at most so many', amount, 50)
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(() => list(context, placementFor(context, command), command.opts<Flags>()));
  return teach(command, [
    ['berth provider list', 'what there is and how full it is'],
    ['berth provider list --resources VCPU:8,MEMORY_MB:16384', 'who has room for so much'],
    ["berth provider list --required 'HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED'", 'with one trait and without another'],
    ['berth provider list --in-tree host-7 --json', 'one tree, for a program'],
  ]);
}

async function list({ terminal }: Context, client: PlacementClient, flags: Flags): Promise<void> {
  const found = await client.providers([...parameter('name', flags.name), ...(await queryOf(client, flags))]);
  const shown = await stock(client, found.toSorted(compareNames).slice(0, flags.limit));
  if (flags.json) return terminal.json({ resource_providers: shown, found: found.length });
  if (found.length === 0) return terminal.note('no provider is like that');
  terminal.print(providerTable(terminal, shown, await ancestors(client, shown)));
  if (found.length > shown.length) terminal.note(`${shown.length} of ${found.length}: --limit shows more`);
}

/** Names of the parents and roots that are not in the list themselves. */
async function ancestors(
  client: PlacementClient,
  shown: readonly StockedProvider[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map(shown.map(({ uuid, name }) => [uuid, name]));
  const away = shown.filter((p) =>
    [p.parent_provider_uuid ?? p.uuid, p.root_provider_uuid].some((it) => !names.has(it)),
  );
  const trees = await readTrees(
    client,
    away.map((provider) => provider.root_provider_uuid),
  );
  for (const { uuid, name } of trees.values()) names.set(uuid, name);
  return names;
}
