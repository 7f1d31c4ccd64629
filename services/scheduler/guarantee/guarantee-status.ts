import {
  type BrokenLossView,
  type GuaranteeStatus,
  type HeadroomView,
  MAX_BROKEN_SHOWN,
} from '#libs/contracts/guarantees';
import { seededRandom } from '#libs/domain/random';
import type { CompleteRequest } from '../decision/complete-request';
import type { DecisionParts } from '../decision/pick-hosts';
import { locate } from '../fleet/located-request';
import { placesOf } from '../ranking/judgement';
import { RequestConstraints } from '../ranking/request-constraints';
import { indexesOf, nearestFor } from './breach-text';
import type { ComingClaim, GuaranteeKeeper } from './guarantee-keeper';
import { guaranteedInstance } from './instance-item';
import type { Breach, KeptGuarantee, KeptLoss } from './kept-guarantee';

/** A guarantee as it stands now. */
export function statusOf(kept: KeptGuarantee, keeper: GuaranteeKeeper): GuaranteeStatus {
  const broken = kept.losses.filter(({ witness }) => witness.unplaced.size > 0);
  const instances = new Set(
    kept.losses.flatMap(({ witness }) =>
      [...witness.items.values()].flatMap((item) => item.instances.map(({ uuid }) => uuid)),
    ),
  );
  const hosts = indexesOf(keeper.snapshot);
  return {
    guarantee: kept.guarantee,
    losses: kept.losses.length,
    kept: kept.losses.length - broken.length,
    instances: instances.size,
    unread: keeper.unread().length,
    broken: broken.slice(0, MAX_BROKEN_SHOWN).map((one) => brokenView(one, hosts)),
    hasTooManyLosses: kept.hasTooManyLosses,
  };
}

function brokenView(kept: KeptLoss, hosts: readonly number[], breach?: Breach): BrokenLossView {
  const { loss, witness } = kept;
  const [key = ''] = witness.unplaced.keys();
  const item = breach?.item ?? witness.items.get(key);
  const nearest = breach ? breach.nearest : item && nearestFor(item, kept, hosts);
  const isInvented = breach !== undefined;
  return {
    domains: loss.domains,
    instances: witness.items.size,
    unplaced: isInvented ? Math.max(1, witness.unplaced.size) : witness.unplaced.size,
    instanceUuid: isInvented ? '' : (item?.instances[0]?.uuid ?? ''),
    nearestHost: nearest?.host ?? '',
    lacks: nearest?.lacks ?? {},
    isCertain: breach?.isCertain ?? [...witness.unplaced.values()].every((verdict) => verdict === 'none'),
  };
}

/** So many are counted; more than anybody asks for at once. */
const MAX_COUNTED = 1_000;
/** Hosts that are tried for the last one. */
const LAST_HOSTS = 8;

/** Number of further instances of a request that fit while all guarantees that refuse hold, each on the best host; and what ends that. */
export function headroomOf(
  { spec, equivalenceClass }: CompleteRequest,
  nowMs: number,
  { guarantees, fleet, rankHosts, settings }: DecisionParts & { readonly guarantees: GuaranteeKeeper },
): HeadroomView {
  guarantees.bring(nowMs);
  let n = 0;
  const { fits, breach } = guarantees.tryEach(next, { most: MAX_COUNTED, tries: LAST_HOSTS });
  const isAtLeast = fits >= MAX_COUNTED;
  return {
    fits,
    isAtLeast,
    guarantee: breach?.guarantee.name ?? '',
    breaksFirst: breach && brokenView(breach.kept, [], breach),
  };

  /** Each goes to the best host of the fleet as it is by then, but for those that a guarantee refused just now. */
  function next(refused: readonly Breach[]): ComingClaim | undefined {
    const { snapshot } = guarantees;
    const about = { fleet, snapshot, isOpen: placesOf(equivalenceClass, settings) };
    const unguarded = new Map(refused.map(({ hostIndex }) => [hostIndex, 'a guarantee']));
    const located = locate(spec, [], about, { unguarded });
    const ranked = rankHosts(equivalenceClass, snapshot);
    const [best] = ranked.bestFirst(new RequestConstraints(located, settings), seededRandom(n));
    if (!best) return undefined;
    const { rootUuid, allocations } = best.candidate;
    const uuid = `headroom ${n++}`;
    const claim = { consumerUuid: uuid, hostIndex: best.host.index, rootUuid, allocations, group: undefined };
    return { claim, instance: guaranteedInstance(uuid, { spec, equivalenceClass }, Number.POSITIVE_INFINITY) };
  }
}
