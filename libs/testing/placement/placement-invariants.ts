import { ownZoneOf } from '../../domain/grouping/aggregate';
import { addResources, capacityOf, type Resources } from '../../domain/inventory';
import { countedOf } from '../../domain/quotas/quota';
import type { contentsOf } from './placement';

type Contents = Awaited<ReturnType<typeof contentsOf>>;

/** Invariants of every store at any time; a sentence for each violation. */
export function violationsOf(contents: Contents): string[] {
  const { providers, usages, consumers, hosts, aggregates, projectUsages } = contents;
  const problems: string[] = [];
  const held = new Map<string, Resources>();
  for (const consumer of consumers) {
    if (Object.keys(consumer.allocations).length === 0) problems.push(`${consumer.uuid} holds nothing`);
    for (const [uuid, resources] of Object.entries(consumer.allocations)) {
      held.set(uuid, addResources(held.get(uuid) ?? {}, resources));
    }
  }
  const used = new Map(usages.map((usage) => [usage.providerUuid, usage.used]));
  const byUuid = new Map(providers.map((provider) => [provider.uuid, provider]));
  if (used.size !== providers.length) problems.push('not every provider has one usage');
  for (const provider of providers) {
    const { uuid, parentUuid, rootUuid, inventories } = provider;
    const root = parentUuid === undefined ? uuid : byUuid.get(parentUuid)?.rootUuid;
    if (root !== rootUuid) problems.push(`${uuid} has root ${rootUuid}, its parent ${root}`);
    if (!isSame(used.get(uuid) ?? {}, held.get(uuid) ?? {})) {
      problems.push(`${uuid}: used ${JSON.stringify(used.get(uuid))}, held ${JSON.stringify(held.get(uuid))}`);
    }
    for (const resourceClass of Object.keys(used.get(uuid) ?? {})) {
      if (!inventories[resourceClass]) problems.push(`${uuid} has ${resourceClass} in use without inventory`);
    }
  }
  for (const uuid of held.keys()) if (!byUuid.has(uuid)) problems.push(`${uuid} is held and not there`);
  for (const host of hosts) if (!byUuid.has(host.providerUuid)) problems.push(`${host.name} has no provider`);
  const byAggregate = new Map(aggregates.map((aggregate) => [aggregate.uuid, aggregate]));
  for (const { name, providerUuid, aggregates: uuids } of hosts) {
    const inside = uuids.map((uuid) => byAggregate.get(uuid));
    const zones = new Set(inside.flatMap((aggregate) => (aggregate && ownZoneOf([aggregate])) ?? []));
    if (zones.size > 1) problems.push(`${name} is in the zones ${[...zones].join(' and ')}`);
    if (inside.includes(undefined)) problems.push(`${name} is in an aggregate that is not there`);
    const ofRoot = byUuid.get(providerUuid)?.aggregates ?? [];
    if (!uuids.every((uuid) => ofRoot.includes(uuid))) problems.push(`the root of ${name} is not in its aggregates`);
  }
  if (new Set(aggregates.map(({ name }) => name)).size !== aggregates.length) problems.push('aggregates share a name');
  if (new Set(hosts.map((host) => host.providerUuid)).size !== hosts.length) problems.push('hosts share a provider');
  const counted = new Map(projectUsages.map(({ projectId, used: amounts }) => [projectId, amounts]));
  const inProjects = heldByProject(consumers);
  for (const projectId of new Set([...counted.keys(), ...inProjects.keys()])) {
    const [usedBy, heldBy] = [counted.get(projectId) ?? {}, inProjects.get(projectId) ?? {}];
    if (isSame(usedBy, heldBy)) continue;
    problems.push(`project ${projectId}: used ${JSON.stringify(usedBy)}, held ${JSON.stringify(heldBy)}`);
  }
  return problems;
}

/** The total allocations of each project's consumers. */
export function heldByProject(consumers: Contents['consumers']): Map<string, Resources> {
  const held = new Map<string, Resources>();
  for (const consumer of consumers) {
    held.set(consumer.projectId, addResources(held.get(consumer.projectId) ?? {}, countedOf(consumer)));
  }
  return held;
}

/** Providers used above their capacity: legitimate only after a forced claim or a reduced inventory. */
export function overCommitted({ providers, usages }: Contents): Map<string, number> {
  const over = new Map<string, number>();
  const byUuid = new Map(providers.map((provider) => [provider.uuid, provider]));
  for (const { providerUuid, used } of usages) {
    for (const [resourceClass, amount] of Object.entries(used)) {
      const inv = byUuid.get(providerUuid)?.inventories[resourceClass];
      const excess = amount - (inv ? capacityOf(inv) : 0);
      if (excess > 0) over.set(`${providerUuid} ${resourceClass}`, excess);
    }
  }
  return over;
}

function isSame(a: Resources, b: Resources): boolean {
  const classes = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...classes].every((resourceClass) => a[resourceClass] === b[resourceClass]);
}
