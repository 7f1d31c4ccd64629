import type { Destination, Selection } from '#libs/contracts/selection';
import type { Consumer } from '#libs/domain/consumer';
import { capacityOf, type Inventories, type Resources } from '#libs/domain/inventory';
import type { Sealer } from '#libs/placement/sealed/allocation-request';
import type { Candidate } from '#libs/placement/search/query';
import type { HostState } from '../fleet/host-state';
import { spreadDomainOf } from './claim';
import type { CompleteSpec } from './complete-request';
import type { InstanceDestination } from './decide';
import type { HostForInstance } from './pick-hosts';

/** The spec of an instance, and who comes before it. */
export type RankedSpec = CompleteSpec & Pick<Consumer, 'priority' | 'isProtected' | 'endsAtMs'>;

/** Puts what was decided for an instance into sealed allocation requests; `newToken` is that of a claim made just now. */
export function sealDestination(
  { projectId, userId, group, priority, isProtected, flavor, reservation, endsAtMs }: RankedSpec,
  spreadAmong: readonly string[] | undefined,
  sealer: Sealer,
) {
  return ({ instanceUuid, selected, alternates, claimToken }: InstanceDestination, newToken: number): Destination => {
    const rank = { priority, isProtected, flavor: flavor?.name, reservation, endsAtMs };
    const seal = sealer({ consumerUuid: instanceUuid, projectId, userId, group, spreadAmong, ...rank });
    const selection = ({ host: state, candidate, required }: HostForInstance): Selection => {
      const { host, aggregates } = state;
      const capacities = capacitiesOf(state);
      const spreadDomain = spreadDomainOf(aggregates, group);
      const sealedWith = ({ allocations, mappings }: Candidate) =>
        seal({ host: host.name, allocations, mappings, spreadDomain, capacities });
      const plain = {
        host: host.name,
        cell: host.cell,
        allocationRequest: sealedWith(candidate),
        serviceHost: host.serviceHost,
        epoch: host.epoch,
      };
      return required ? { ...plain, requiredAllocationRequest: sealedWith(required) } : plain;
    };
    return {
      instanceUuid,
      selected: selection(selected),
      alternates: alternates.map(selection),
      claimToken: claimToken ?? newToken,
    };
  };
}

const known = new WeakMap<Inventories, Resources>();

/**
 * Total capacities of a host's own providers, whatever is reserved: once for the inventories of a host, which are immutable.
 */
function capacitiesOf({ inventories, providers, root }: HostState): Resources {
  const last = known.get(inventories);
  if (last) return last;
  const capacities: Record<string, number> = {};
  const shared = new Set(providers?.sharing);
  for (const provider of providers?.all ?? [root]) {
    for (const [name, one] of Object.entries(provider.inventories)) {
      // Sharing providers bound their part themselves.
      const amount = shared.has(provider) ? Infinity : Math.floor(capacityOf({ ...one, reserved: 0 }));
      capacities[name] = (capacities[name] ?? 0) + amount;
    }
  }
  for (const name in capacities) if (capacities[name] === Infinity) delete capacities[name];
  known.set(inventories, capacities);
  return capacities;
}
