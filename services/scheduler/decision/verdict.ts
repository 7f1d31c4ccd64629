import type { HostVerdict } from '#libs/contracts/diagnosis';
import type { Prices } from '../demand/prices';
import { roomCosts } from '../demand/room-costs';
import { allows } from '../filters/filter';
import type { HostState } from '../fleet/host-state';
import { needsSearch, noCandidateSentence, searchOn } from '../ranking/candidates';
import type { Judgement } from '../ranking/judgement';
import type { RequestConstraints } from '../ranking/request-constraints';
import type { EquivalenceClass } from '../request/equivalence-class';

export interface VerdictParts {
  readonly judgement: Judgement;
  readonly constraints: RequestConstraints;
  readonly prices: Prices;
}

/** A host's verdict: every refusal; or each weigher's share, and the cost in priced capacity. */
export function verdictOn(
  host: HostState,
  equivalenceClass: EquivalenceClass,
  { judgement, constraints, prices }: VerdictParts,
): HostVerdict {
  const refusals = [
    ...judgement.sentences(host),
    ...constraints.constraints
      .filter((constraint) => !allows(constraint, host.index))
      .map((constraint) => `${constraint.filter}: ${constraint.describe(host)}`),
  ];
  const found = needsSearch(equivalenceClass, host) ? searchOn(equivalenceClass, host) : undefined;
  if (refusals.length === 0 && needsSearch(equivalenceClass, host) && !found) {
    refusals.push(noCandidateSentence(equivalenceClass, host));
  }
  const weights = { ...judgement.weights(host, found?.preferred), ...constraints.weights(host.index) };
  const weight = Object.values(weights).reduce((sum, share) => sum + share, 0);
  const passed = refusals.length === 0;
  const costs = passed ? roomCosts(host, equivalenceClass, prices) : [];
  return { host: host.host.name, passed, refusals, weight, weights, roomCosts: costs };
}
