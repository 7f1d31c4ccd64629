import type { Destination, Selection } from '#libs/contracts/selection';
import type { Consumer } from '#libs/domain/consumer';
import type { Sealer } from '#libs/placement/sealed/allocation-request';
import type { Candidate } from '#libs/placement/search/query';
import { spreadDomainOf } from './claim';
import type { CompleteSpec } from './complete-request';
import type { InstanceDestination } from './decide';
import type { HostForInstance } from './pick-hosts';

/** The spec of an instance, and who comes before it. */
export type RankedSpec = CompleteSpec & Pick<Consumer, 'priority' | 'isProtected'>;

/** Puts what was decided for an instance into sealed allocation requests; `newToken` is that of a claim made just now. */
export function sealDestination(
  { projectId, userId, group, priority, isProtected }: RankedSpec,
  spreadAmong: readonly string[] | undefined,
  sealer: Sealer,
) {
  return ({ instanceUuid, selected, alternates, claimToken }: InstanceDestination, newToken: number): Destination => {
    const seal = sealer({ consumerUuid: instanceUuid, projectId, userId, group, spreadAmong, priority, isProtected });
    const selection = ({ host: { host, aggregates }, candidate, required }: HostForInstance): Selection => {
      const spreadDomain = spreadDomainOf(aggregates, group);
      const sealedWith = ({ allocations, mappings }: Candidate) =>
        seal({ host: host.name, allocations, mappings, spreadDomain });
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
