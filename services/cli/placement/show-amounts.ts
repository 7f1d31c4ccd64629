import { formatNumber } from '../terminal';
import type { Amounts } from './documents';
import { compareClasses } from './stock';

/** `VCPU 2, MEMORY_MB 1,024` */
export function showAmounts(amounts: Amounts): string {
  return Object.entries(amounts)
    .sort(([a], [b]) => compareClasses(a, b))
    .map(([resourceClass, amount]) => `${resourceClass} ${formatNumber(amount)}`)
    .join(', ');
}
