import type { InventoryDocument } from '../client/placement-documents';
import type { StockedProvider } from '../client/providers';
import { fillsOf } from './fill';
import { formatNumber } from './format';
import { bar, table } from './table';
import type { Terminal } from './terminal';

/** One line per inventory of a provider, or a sentence without any. */
export function inventoryTable(terminal: Terminal, provider: StockedProvider): string {
  const fills = fillsOf(provider);
  if (fills.length === 0) return 'It has no inventories: nothing can be allocated from it.';
  const rows = fills.map(({ resourceClass, inventory, used, capacity }) => {
    const { total, reserved, allocation_ratio: ratio } = inventory;
    const free = Math.max(0, capacity - used);
    const fill = bar(terminal, used, capacity);
    return [resourceClass, total, reserved, formatRatio(ratio), used, free, fill, unitsOf(inventory)];
  });
  const units = rows.some((row) => row.at(-1) !== '') ? 'UNITS' : '';
  return table(terminal, ['RESOURCE CLASS', 'TOTAL', 'RESERVED', 'RATIO', 'USED', 'FREE', '', units], rows);
}

function formatRatio(ratio: number): string {
  return ratio < 10 ? ratio.toFixed(2).replace(/0$/, '') : formatNumber(ratio);
}

/** The amounts that one consumer may take: `2 to 16 by 2`; empty when any amount is allowed. */
function unitsOf({ total, min_unit: min, max_unit: max, step_size: step }: InventoryDocument): string {
  if (min === 1 && step === 1 && max >= total) return '';
  const upTo = max >= total ? 'up' : `to ${formatNumber(max)}`;
  return `${formatNumber(min)} ${upTo}${step === 1 ? '' : ` by ${formatNumber(step)}`}`;
}
