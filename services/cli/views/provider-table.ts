import type { ProviderDocument } from '../client/placement-documents';
import type { StockedProvider } from '../client/providers';
import { compareClasses, type Fill, fillsOf } from './fill';
import { countBy, formatNumber } from './format';
import { type Gauge, table } from './table';
import type { Terminal } from './terminal';

/** Number of classes with their own column, the most frequent; the others share one. */
const MAIN_CLASSES = 3;

/**
 * One line per provider, with bars for the most frequent classes, and amounts beside them when they fit, or with wide
 * output. `known` includes their parents and roots.
 */
export function providerTable(
  terminal: Terminal,
  providers: readonly StockedProvider[],
  known: ReadonlyMap<string, ProviderDocument>,
  isWide = false,
): string {
  const main = mainClasses(providers);
  const rows = providers.map((provider) => {
    const fills = fillsOf(provider);
    const others = fills.filter(({ resourceClass }) => !main.includes(resourceClass));
    return [
      provider.name,
      { uuid: provider.uuid },
      provider.generation,
      placeOf(provider, known),
      ...main.flatMap((resourceClass) => showFill(fills, resourceClass)),
      others.map(({ resourceClass, used, capacity }) => `${resourceClass} ${used}/${capacity}`).join(' '),
    ];
  });
  const hasOthers = rows.some((row) => row.at(-1) !== '');
  const classes = main.flatMap((name) => [name, '']);
  const head = ['NAME', 'UUID', 'GENERATION', 'UNDER', ...classes, hasOthers ? 'OTHER CLASSES' : ''];
  const amounts = main.map((_, i) => head.indexOf('UNDER') + 2 * (i + 1));
  const spare = { first: amounts, last: [head.indexOf('GENERATION'), head.indexOf('UNDER')] };
  return table(terminal, head, rows, isWide ? {} : spare);
}

/** A provider's place in its tree: `-` for a root, else the root, or root and parent. */
export function placeOf(
  { parent_provider_uuid: parent, root_provider_uuid: root }: ProviderDocument,
  known: ReadonlyMap<string, ProviderDocument>,
): string {
  if (parent === null) return '-';
  const path = parent === root ? [root] : [root, parent];
  return path.map((uuid) => known.get(uuid)?.name ?? uuid).join(' / ');
}

function mainClasses(providers: readonly StockedProvider[]): string[] {
  const classes = providers.flatMap(({ inventories }) => Object.keys(inventories));
  return countBy(classes, (resourceClass) => resourceClass)
    .sort(([a, timesA], [b, timesB]) => timesB - timesA || compareClasses(a, b))
    .slice(0, MAIN_CLASSES)
    .map(([resourceClass]) => resourceClass)
    .sort(compareClasses);
}

/** The bar, and the amounts. */
function showFill(fills: readonly Fill[], resourceClass: string): [Gauge | string, string] {
  const fill = fills.find((one) => one.resourceClass === resourceClass);
  return fill ? [fill, `${formatNumber(fill.used)} of ${formatNumber(fill.capacity)}`] : ['-', ''];
}
