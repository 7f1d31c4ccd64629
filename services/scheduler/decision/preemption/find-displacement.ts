import type { Displacement } from '#libs/contracts/diagnosis';
import type { Consumer } from '#libs/domain/consumer';
import { countedOf } from '#libs/domain/quotas/quota';
import { requiredAmounts } from '../../fleet/host-capacity';
import type { HostState } from '../../fleet/host-state';
import type { EquivalenceClass } from '../../request/equivalence-class';
import { fits, type HostPreemption, instancesOn, MAX_DRY_RUNS, onHost, type PreemptionSearch } from './find-preemption';

/**
 * The host that has room for a request by the fewest instances' leaving, of those that may leave; undefined when there is none, or too
 * many would have to. Not that they find another host: who moves them asks for that.
 *
 * As for a preemption all leave at first, and those that give least of what is asked are put back first: one large instance
 * leaves rather than many small ones. Priorities and protection say nothing here: what is moved goes on.
 *
 * @param isPlace  whether a host is a place for the request, room or not
 * @param staying  instances that do not leave
 */
export function findDisplacement(
  search: Omit<PreemptionSearch, 'priority' | 'random'>,
  isPlace: (host: HostState) => boolean,
  staying: ReadonlySet<string>,
): Displacement | undefined {
  const { snapshot, constraints, equivalenceClass, view } = search;
  let best: HostPreemption | undefined;
  let dryRuns = 0;
  for (let index = 0; index < snapshot.hosts.length; index++) {
    const host = snapshot.at(index);
    if (host === undefined || !constraints.allows(index) || !isPlace(host)) continue;
    const leaving = instancesOn(host, view).filter(({ uuid }) => !staying.has(uuid));
    if (leaving.length === 0) continue;
    const found = onHost(host, bySize(leaving, equivalenceClass), (state) => fits(state, search), search);
    if (found && (best === undefined || found.victims.length < best.victims.length)) best = found;
    if (best?.victims.length === 1 || ++dryRuns === MAX_DRY_RUNS) break;
  }
  return best && { host: best.host, instanceUuids: best.victims.map(({ uuid }) => uuid) };
}

/** The smallest first, each measured by the class of which it holds most of what is asked. */
function bySize(consumers: readonly Consumer[], equivalenceClass: EquivalenceClass): Consumer[] {
  const asked = Object.entries(requiredAmounts(equivalenceClass));
  const sizeOf = (one: Consumer) => {
    const held = countedOf(one);
    return Math.max(...asked.map(([name, amount]) => (held[name] ?? 0) / amount));
  };
  const sizes = new Map(consumers.map((one) => [one, sizeOf(one)]));
  return consumers.toSorted((a, b) => (sizes.get(a) ?? 0) - (sizes.get(b) ?? 0) || (a.uuid < b.uuid ? -1 : 1));
}
