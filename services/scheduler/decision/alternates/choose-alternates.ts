import type { HostState } from '../../fleet/host-state';
import { requiredOn } from '../../ranking/candidates';
import { best } from '../../ranking/ranked-hosts';
import type { SelectRequest } from '../complete-request';
import type { HostForInstance, Picking, Picks } from '../pick-hosts';
import { withReserved } from './reserved-room';

/**
 * Names the alternates of one instance after the other, given its host: the best other hosts of the same cell once all
 * instances are placed. Instances may share them, unless they are reserved.
 */
export function alternatesChooser(
  { numAlternates, alternatesHeld }: Pick<SelectRequest, 'numAlternates' | 'alternatesHeld'>,
  picked: Picks,
  { equivalenceClass, rankHosts, random }: Omit<Picking, 'settings' | 'group'>,
): (own: HostForInstance) => readonly HostForInstance[] {
  let { snapshot } = picked;
  return ({ host: own }) => {
    if (numAlternates === 0) return [];
    const withoutIt = picked.constraints.withMembers(own.index, -1);
    const isWanted = (other: HostState) => other.index !== own.index && other.host.cell === own.host.cell;
    const found = best(numAlternates, rankHosts(equivalenceClass, snapshot).bestFirst(withoutIt, random, isWanted));
    // An alternate reserved for one instance is taken for the next.
    if (alternatesHeld === 'reserved') snapshot = withReserved(found, snapshot);
    return found.map(({ host, candidate }) =>
      candidate.preferred.length === 0
        ? { host, candidate }
        : { host, candidate, required: requiredOn(equivalenceClass, host) },
    );
  };
}
