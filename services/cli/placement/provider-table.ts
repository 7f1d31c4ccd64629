import { bar, type Terminal, table } from '../terminal';
import type { ProviderDocument } from './documents';
import { compareClasses, type Fill, fillsOf, type StockedProvider } from './stock';

/** Columns of bars; classes that fewer providers have share one column. */
const MAIN_CLASSES = 3;
const BAR_WIDTH = 5;

/** Providers, one on a line, with bars of the classes that most of them have. `names` are by UUID. */
export function providerTable(
  terminal: Terminal,
  providers: readonly StockedProvider[],
  names: ReadonlyMap<string, string>,
): string {
  const main = mainClasses(providers);
  const rows = providers.map((provider) => {
    const fills = fillsOf(provider);
    const others = fills.filter(({ resourceClass }) => !main.includes(resourceClass));
    return [
      provider.name,
      provider.uuid,
      provider.generation,
      placeOf(provider, names),
      ...main.map((resourceClass) => showFill(terminal, fills, resourceClass)),
      others.map(({ resourceClass, used, capacity }) => `${resourceClass} ${used}/${capacity}`).join(' '),
    ];
  });
  const hasOthers = rows.some((row) => row.at(-1) !== '');
  return table(terminal, ['NAME', 'UUID', 'GENERATION', 'UNDER', ...main, hasOthers ? 'OTHER CLASSES' : ''], rows);
}

/** Where a provider is in its tree: `-` for a root, the root, or root and parent. */
export function placeOf(
  { parent_provider_uuid: parent, root_provider_uuid: root }: Omit<ProviderDocument, 'generation' | 'name' | 'uuid'>,
  names: ReadonlyMap<string, string>,
): string {
  if (parent === null) return '-';
  const path = parent === root ? [root] : [root, parent];
  return path.map((uuid) => names.get(uuid) ?? uuid).join(' / ');
}

function mainClasses(providers: readonly StockedProvider[]): string[] {
  const counts = new Map<string, number>();
  for (const resourceClass of providers.flatMap(({ inventories }) => Object.keys(inventories))) {
    counts.set(resourceClass, (counts.get(resourceClass) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, timesA], [b, timesB]) => timesB - timesA || compareClasses(a, b))
    .slice(0, MAIN_CLASSES)
    .map(([resourceClass]) => resourceClass)
    .sort(compareClasses);
}

function showFill(terminal: Terminal, fills: readonly Fill[], resourceClass: string): string {
  const fill = fills.find((one) => one.resourceClass === resourceClass);
  return fill === undefined ? '-' : bar(terminal, fill.used, fill.capacity, BAR_WIDTH);
}
