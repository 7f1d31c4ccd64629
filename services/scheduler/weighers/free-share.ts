import { capacityOf } from '#libs/domain/inventory';
import type { ClassWeigher } from './weigher';

/**
 * cpu: prefers hosts with a larger share of their virtual CPUs free (VCPU), the instance counted as placed.
 *
 * `BERTH_SCHEDULER_WEIGHT_CPU`, 1 by default, spreads; a negative weight packs, so that whole hosts stay empty. Raw: the
 * free share of capacity, 0..1.
 */
export const cpuWeigher = freeShareWeigher('cpu', 'VCPU');

/** ram: the same for memory (MEMORY_MB). `BERTH_SCHEDULER_WEIGHT_RAM`, 1 by default. */
export const ramWeigher = freeShareWeigher('ram', 'MEMORY_MB');

/** disk: the same for disk (DISK_GB). `BERTH_SCHEDULER_WEIGHT_DISK`, 1 by default. */
export const diskWeigher = freeShareWeigher('disk', 'DISK_GB');

/**
 * A share and not an amount: a fleet of large and small hosts fills evenly, and the bounds never move. Hosts without the
 * class have 0.
 */
function freeShareWeigher(name: string, resourceClass: string): ClassWeigher {
  return {
    kind: 'class',
    name,
    prepare({ resources, batchSize }) {
      const taken = (resources[resourceClass] ?? 0) * batchSize;
      return {
        lower: 0,
        upper: 1,
        raw({ inventories, free }) {
          const inventory = inventories[resourceClass];
          const capacity = inventory === undefined ? 0 : capacityOf(inventory);
          return capacity === 0 ? 0 : ((free[resourceClass] as number) - taken) / capacity;
        },
      };
    },
  };
}
