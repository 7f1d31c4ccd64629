import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { answerCommand, showAnswer } from '../../answers/answer';
import type { PlacementClient } from '../../client/placement-client';
import type { Amounts, ProviderAllocations, ProviderDocument } from '../../client/placement-documents';
import { findProvider, readStock } from '../../client/providers';
import { usePlacement } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { compareClasses } from '../../views/fill';
import { formatNumber } from '../../views/format';
import { inventoryTable } from '../../views/inventory-table';
import { facts, table } from '../../views/table';
import type { Terminal } from '../../views/terminal';
import { compareNames } from '../../views/tree-table';

/** Limit of the consumers in the table; `--json` has all. */
const CONSUMERS_SHOWN = 20;

/** `berth provider show` */
export function providerShowCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show one provider: inventories, traits, aggregates and allocations.')
    .argument('<provider>', 'its UUID or name');
  usePlacement(context, command, (client, flags, uuidOrName) =>
    showAnswer(context, flags, async () => {
      const whole = await readWhole(client, await findProvider(client, uuidOrName));
      const tree = await client.providers([['in_tree', whole.uuid]]);
      return { plain: whole, names: [whole.name], draw: (terminal) => show(terminal, whole, tree) };
    }),
  );
  return addHelp(command, [
    ['berth provider show host-7', 'what it has, what is in use, what it is'],
    ['berth provider show 5f3b1b5e-6a0c-4c56-8f8f-0a5b8a2d3c11 --json', 'the same for a program'],
  ]);
}

/** One provider with all documents that the API has about it. */
async function readWhole(client: PlacementClient, provider: ProviderDocument) {
  const { uuid } = provider;
  const [stocked, traits, aggregates, allocations] = await Promise.all([
    readStock(client, provider),
    client.traits(uuid),
    client.aggregates(uuid),
    client.allocationsOn(uuid),
  ]);
  return { ...stocked, traits, aggregates, allocations };
}

function show(
  terminal: Terminal,
  provider: Awaited<ReturnType<typeof readWhole>>,
  tree: readonly ProviderDocument[],
): void {
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
  const rows = consumers.slice(0, CONSUMERS_SHOWN).map(([uuid, { resources }]) => [{ uuid }, showAmounts(resources)]);
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
