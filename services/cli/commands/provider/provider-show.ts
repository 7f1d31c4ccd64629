import { Command } from 'commander';
import type { PlacementClient } from '../../client/placement-client';
import type { Amounts, ProviderAllocations, ProviderDocument } from '../../client/placement-documents';
import { findProvider, readStock, type StockedProvider } from '../../client/providers';
import { addPlacementFlags, placementFor } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { compareClasses } from '../../views/fill';
import { formatNumber } from '../../views/format';
import { inventoryTable } from '../../views/inventory-table';
import { facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { compareNames } from '../../views/tree-table';

/** One provider with everything that the API has about it. */
interface WholeProvider extends StockedProvider {
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
  readonly allocations: ProviderAllocations;
}

/** Consumers in the table; `--json` has all. */
const CONSUMERS_SHOWN = 20;

/** `berth provider show` */
export function providerShowCommand(context: Context): Command {
  const command = new Command('show')
    .description('Show one provider: inventories, traits, aggregates, and who holds what of it.')
    .argument('<provider>', 'its UUID or name')
    .option('--json', 'print one JSON value', false);
  addPlacementFlags(command).action(async (uuidOrName: string) => {
    const client = placementFor(context, command);
    const provider = await findProvider(client, uuidOrName);
    const whole = await readWhole(client, provider);
    if (command.opts<{ json: boolean }>().json) return context.terminal.json(whole);
    show(context.terminal, whole, await client.providers([['in_tree', provider.uuid]]));
  });
  return addHelp(command, [
    ['berth provider show host-7', 'what it has, what is in use, what it is'],
    ['berth provider show 5f3b1b5e-6a0c-4c56-8f8f-0a5b8a2d3c11 --json', 'the same for a program'],
  ]);
}

async function readWhole(client: PlacementClient, provider: ProviderDocument): Promise<WholeProvider> {
  const { uuid } = provider;
  const [[stocked], traits, aggregates, allocations] = await Promise.all([
    readStock(client, [provider]),
    client.traits(uuid),
    client.aggregates(uuid),
    client.allocationsOn(uuid),
  ]);
  return { ...provider, inventories: {}, usages: {}, ...stocked, traits, aggregates, allocations };
}

function show(terminal: Terminal, provider: WholeProvider, tree: readonly ProviderDocument[]): void {
  const named = (uuid: string | null) => {
    const name = tree.find((other) => other.uuid === uuid)?.name;
    return uuid === null ? '-' : `${name ?? '?'} ${terminal.colours.dim(`(${uuid})`)}`;
  };
  const { uuid, root_provider_uuid: root, traits, aggregates, allocations } = provider;
  const children = tree.filter((other) => other.parent_provider_uuid === uuid).toSorted(compareNames);
  const pairs: [string, string][] = [
    ['provider', terminal.colours.bold(provider.name)],
    ['uuid', uuid],
    ['generation', String(provider.generation)],
    ['parent', named(provider.parent_provider_uuid)],
    ['root', root === uuid ? 'itself' : named(root)],
    ['children', children.map(({ name }) => name).join(' ') || '-'],
    ['traits', traits.toSorted().join(' ') || '-'],
    ['aggregates', aggregates.toSorted().join(' ') || '-'],
  ];
  terminal.print(facts(terminal, pairs));
  terminal.print(`\n${inventoryTable(terminal, provider)}`);
  showConsumers(terminal, allocations);
}

function showConsumers(terminal: Terminal, allocations: ProviderAllocations): void {
  const consumers = Object.entries(allocations);
  if (consumers.length === 0) return;
  const rows = consumers.slice(0, CONSUMERS_SHOWN).map(([uuid, { resources }]) => [uuid, showAmounts(resources)]);
  terminal.print(`\n${table(terminal, ['CONSUMER', 'HOLDS'], rows)}`);
  if (consumers.length > CONSUMERS_SHOWN) {
    terminal.note(`the first ${CONSUMERS_SHOWN} of ${formatNumber(consumers.length)} consumers: --json has them all`);
  }
}

/** `VCPU 2, MEMORY_MB 1,024` */
function showAmounts(amounts: Amounts): string {
  return Object.entries(amounts)
    .sort(([a], [b]) => compareClasses(a, b))
    .map(([resourceClass, amount]) => `${resourceClass} ${formatNumber(amount)}`)
    .join(', ');
}
