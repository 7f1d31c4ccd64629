import type { DeviceAffinity } from '#libs/domain/extra-specs/device-affinity';
import { NUMA_ROOT } from '#libs/domain/extra-specs/topology';
import type { Provider } from '#libs/domain/provider';
import type { ProviderForest } from '#libs/placement/port/placement-view';
import type { Candidate, Nearness } from '#libs/placement/search/query';
import type { HostDevice } from './host-devices';

/**
 * The searches for devices near an instance's NUMA nodes, in turn, as Nova does: first near them; with `legacy` and `preferred` then also
 * below no node; with `preferred` at last anywhere. One search without a bond where nothing is asked.
 */
export function nearnessesFor({
  deviceAffinity,
}: {
  readonly deviceAffinity?: DeviceAffinity | undefined;
}): readonly (Nearness | undefined)[] {
  if (deviceAffinity === undefined) return ANYWHERE;
  const { policy, groups, nodes } = deviceAffinity;
  const near: Nearness = { groups, to: nodes, mayBeAway: false };
  if (policy === 'required') return [near];
  const known = [near, { ...near, mayBeAway: true }];
  return policy === 'legacy' ? known : [...known, undefined];
}

const ANYWHERE = [undefined];

/** Tells which devices are near the NUMA nodes of a candidate. */
export function devicesNear(
  { to, mayBeAway }: Nearness,
  { mappings }: Pick<Candidate, 'mappings'>,
  forest: Pick<ProviderForest, 'provider'>,
): (device: HostDevice) => boolean {
  const nodes = new Set(to.flatMap((suffix) => mappings[suffix] ?? []));
  return ({ provider }) => {
    let isAway = true;
    for (
      let at: Provider | undefined = provider;
      at;
      at = at.parentUuid === undefined ? undefined : forest.provider(at.parentUuid)
    ) {
      if (nodes.has(at.uuid)) return true;
      isAway &&= !at.traits.includes(NUMA_ROOT);
    }
    return mayBeAway && isAway;
  };
}
