import { type Aggregate, TENANT_KEY, valuesIn, ZONE_KEY } from '#libs/domain/grouping/aggregate';
import type { Choices } from '../api/instances';
import { natural } from '../api/natural-order';
import type { Live } from '../live/live';

/** Limit of the names that a picker offers. */
const MOST = 500;

/** Names that pickers offer: those of the fleet now. Without a conductor they offer no flavors. */
export async function readChoices({ parts: { mirror, client }, fleet }: Live): Promise<Choices> {
  const flavors = await client.flavors().catch(() => []);
  const zones = new Set<string>();
  for (const { zone } of fleet.rows.values()) zones.add(zone);
  const inUse = mirror.traits().filter(({ name }) => mirror.providersWithTrait(name).size > 0);
  return {
    flavors: flavors.map(({ name, resources }) => ({ name, resources })),
    zones: [...zones].sort().slice(0, MOST),
    aggregates: [...mirror.aggregates()]
      .map(({ name }) => name)
      .sort()
      .slice(0, MOST),
    projects: mirror.quotas
      .projects()
      .filter((projectId) => projectId !== '')
      .slice(0, MOST),
    metadata: [...new Set([...mirror.aggregates()].flatMap(pairsOf))].sort(natural.compare).slice(0, MOST),
    traits: inUse.map(({ name }) => name).slice(0, MOST),
  };
}

/** Domains that hosts share: metadata but zones, which have a picker of their own, and tenants. */
function pairsOf({ metadata }: Aggregate): readonly string[] {
  const names = Object.keys(metadata).filter((name) => name !== ZONE_KEY && !name.startsWith(TENANT_KEY));
  return names.flatMap((name) => valuesIn(metadata[name]).map((value) => `${name}=${value}`));
}
