import type { HostSummary } from '../contracts/hosts';
import { capacityOf } from '../domain/inventory';
import type { HostShape } from '../domain/queueing/capacity-wanted';

/** The shape of a host as schedulers list it: its capacity and traits, whatever is allocated. */
export function shapeOfHost({ host, resources, traits }: HostSummary): HostShape {
  const capacity = Object.entries(resources).map(([name, { inventory }]) => [name, capacityOf(inventory)]);
  return { like: host, capacity: Object.fromEntries(capacity) as HostShape['capacity'], traits };
}
