import type { Diagnosis, HostVerdict } from '#libs/contracts/diagnosis';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import { seededRandom } from '#libs/domain/random';
import { NO_PRICES, type Prices } from '../demand/prices';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import { Judgement, type RankingSettings } from '../ranking/judgement';
import { best } from '../ranking/ranked-hosts';
import type { RequestConstraints } from '../ranking/request-constraints';
import type { EquivalenceClass } from '../request/equivalence-class';
import { diagnose } from './diagnose';
import type { DecisionParts } from './pick-hosts';
import { verdictOn } from './verdict';

/** The basis of a decision: the fleet before anything was placed. */
export interface DecisionBasis {
  /** The store's revision that the mirror showed. */
  readonly revision: number;
  readonly diagnosis: Diagnosis;
  /** The best, and after them those that were selected and are not among them. */
  readonly hosts: readonly HostVerdict[];
}

/** The start of a decision. */
interface Start {
  readonly snapshot: FleetSnapshot;
  readonly constraints: RequestConstraints;
  readonly quotaExceeded: readonly QuotaExcess[];
}

const BEST_SHOWN = 3;
const SELECTED_SHOWN = 12;

/**
 * Notes what a decision is made on, where it is to be kept: what refuses hosts, and the best few. To be called before the
 * first instance is placed, because ranks go on with the fleet.
 *
 * @returns the basis, with the hosts that were selected; where there was no host, with the diagnosis in the end, which is kept always
 */
export function noteBasis(
  equivalenceClass: EquivalenceClass,
  { snapshot, constraints, quotaExceeded }: Start,
  { fleet, pricing, rankHosts, settings, keepsSelected }: DecisionParts,
): (selected: readonly HostState[], diagnosis?: Diagnosis) => DecisionBasis | undefined {
  if (settings.keptDecisions === 0) return () => undefined;
  const { revision } = fleet.view;
  if (!keepsSelected()) return (_, diagnosis) => diagnosis && { revision, diagnosis, hosts: [] };
  const { prices } = pricing;
  const ranked = rankHosts(equivalenceClass, snapshot);
  const first = best(BEST_SHOWN, ranked.bestFirst(constraints, seededRandom(0))).map(({ host }) => host.index);
  const feasibility = ranked.feasibility(constraints);
  return (selected, diagnosis = diagnose(feasibility, quotaExceeded)) => {
    const chosen = [...new Set(selected.map(({ index }) => index))].slice(0, SELECTED_SHOWN);
    const judgement = judgementOf(equivalenceClass, settings, prices);
    const hosts = [...new Set([...first, ...chosen])].flatMap((index) => snapshot.at(index) ?? []);
    return {
      revision,
      diagnosis,
      hosts: hosts.map((host) => verdictOn(host, equivalenceClass, { judgement, constraints, prices: NO_PRICES })),
    };
  };
}

/** Judgements of recent classes, by identity: preparing filters costs more than asking them. */
const judgements = new WeakMap<
  EquivalenceClass,
  { readonly settings: RankingSettings; readonly prices: Prices; readonly judgement: Judgement }
>();

function judgementOf(equivalenceClass: EquivalenceClass, settings: RankingSettings, prices: Prices): Judgement {
  const known = judgements.get(equivalenceClass);
  if (known?.settings === settings && known.prices === prices) return known.judgement;
  const judgement = new Judgement(equivalenceClass, settings, prices);
  judgements.set(equivalenceClass, { settings, prices, judgement });
  return judgement;
}
