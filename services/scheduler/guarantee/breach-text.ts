import { lossText } from '#libs/domain/grouping/guarantee';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { lacksOn, requiredDemands } from '../fleet/host-capacity';
import type { InstanceItem } from './instance-item';
import type { Breach, KeptLoss, Nearest } from './kept-guarantee';

/** The host that lacks least of what an item needs, among those that a loss leaves; undefined where none lacks only amounts. */
export function nearestFor(
  { instances }: InstanceItem,
  { witness }: KeptLoss,
  hosts: readonly number[],
): Nearest | undefined {
  let nearest: (Nearest & { readonly size: number }) | undefined;
  const [first] = instances;
  if (!first) return undefined;
  const demands = requiredDemands(first.equivalenceClass);
  for (const host of hosts) {
    const load = witness.isLost(host) ? undefined : witness.loadOf(host);
    if (!load) continue;
    const lacks = lacksOn(load, demands);
    const size = Object.entries(lacks).reduce(
      (sum, [name, amount]) => sum + amount / (load.inventories[name]?.total || 1),
      0,
    );
    if (size > 0 && (nearest === undefined || size < nearest.size)) nearest = { host: load.host.name, lacks, size };
  }
  return nearest && { host: nearest.host, lacks: nearest.lacks };
}

/** Why a claim was not made, and the smallest change by which it would be. */
export function breachText({ guarantee, kept, item, nearest, isCertain }: Breach): string {
  const what = `guarantee '${guarantee.name}' (lose ${lossText(guarantee)})`;
  const where = kept.loss.domains.join(' and ');
  const found = isCertain ? 'would have no place' : 'found no place within the steps of the search';
  const lacks = Object.entries(nearest?.lacks ?? {}).map(([name, amount]) => `${amount} ${name}`);
  const help = nearest ? `; ${lacks.join(' and ')} more free on ${nearest.host} would do` : '';
  return `${what}: if ${where} were lost, ${item.instances.length === 1 ? 'an instance' : 'a group'} ${found}${help}`;
}

/** The loss that a claim on a host would break, as the reason of that host. */
export function shortText({ guarantee, kept }: Breach): string {
  return `guarantee '${guarantee.name}' would not stand the loss of ${kept.loss.domains.join(' and ')}`;
}

/** Hosts of a fleet by index. */
export function indexesOf({ hosts }: FleetSnapshot): readonly number[] {
  const indexes: number[] = [];
  hosts.forEach((index) => indexes.push(index));
  return indexes;
}
