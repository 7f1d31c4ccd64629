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
import { breachText, indexesOf, nearestFor, shortText } from './breach-text';
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
  const about = { fleet, rankHosts, settings, guarantees };
  const asked = { spec, equivalenceClass, priority: Number.POSITIVE_INFINITY };
  let n = 0;
  const next = (refused: readonly Breach[]) => onBestHost(asked, { refused, n: n++ }, about);
  const { fits, breach } = guarantees.tryEach(next, { most: MAX_COUNTED, tries: LAST_HOSTS });
  const isAtLeast = fits >= MAX_COUNTED;
  return {
    fits,
    isAtLeast,
    guarantee: breach?.guarantee.name ?? '',
    breaksFirst: breach && brokenView(breach.kept, [], breach),
  };
}

type TrialParts = Pick<DecisionParts, 'fleet' | 'rankHosts' | 'settings'> & { readonly guarantees: GuaranteeKeeper };

/** A claim on the best host of the fleet as it is with what is tried now, but for those that a guarantee refused just now. */
function onBestHost(
  { spec, equivalenceClass, priority }: CompleteRequest & { readonly priority: number },
  { refused, n }: { readonly refused: readonly Breach[]; readonly n: number },
  { fleet, rankHosts, settings, guarantees: { snapshot } }: TrialParts,
): ComingClaim | undefined {
  const unguarded = new Map(refused.map((breach) => [breach.hostIndex, shortText(breach)]));
  const located = locate(spec, [], { fleet, snapshot, isOpen: placesOf(equivalenceClass, settings) }, { unguarded });
  const ranked = rankHosts(equivalenceClass, snapshot);
  const [best] = ranked.bestFirst(new RequestConstraints(located, settings), seededRandom(n));
  if (!best) return undefined;
  const { rootUuid, allocations } = best.candidate;
  const uuid = `tried ${n}`;
  const claim = { consumerUuid: uuid, hostIndex: best.host.index, rootUuid, allocations, group: undefined };
  return { claim, instance: guaranteedInstance(uuid, { spec, equivalenceClass }, priority) };
}

/** Hosts that guarantees refuse a request, with the loss that each would not stand, and the last breach in words. */
export function unguardedHosts(
  asked: CompleteRequest & { readonly priority: number },
  nowMs: number,
  parts: Omit<TrialParts, 'guarantees'> & { readonly guarantees?: GuaranteeKeeper | undefined },
): { readonly unguarded: ReadonlyMap<number, string>; readonly why: string | undefined } {
  const { guarantees, settings } = parts;
  const unguarded = new Map<number, string>();
  if (!guarantees?.isActive) return { unguarded, why: undefined };
  guarantees.bring(nowMs);
  let seen: readonly Breach[] = [];
  const next = (refused: readonly Breach[]) => {
    seen = [...refused];
    return onBestHost(asked, { refused, n: refused.length }, { ...parts, guarantees });
  };
  const { fits, breach } = guarantees.tryEach(next, { most: 1, tries: settings.guaranteeHosts });
  const all = fits === 0 && breach ? [...seen.filter((one) => one !== breach), breach] : seen;
  for (const one of all) unguarded.set(one.hostIndex, shortText(one));
  const last = all.at(-1);
  if (all.length >= settings.guaranteeHosts) {
    const text = `a guarantee refuses the best ${all.length}, and no other is tried`;
    guarantees.snapshot.hosts.forEach((index) => void (unguarded.has(index) || unguarded.set(index, text)));
  }
  return { unguarded, why: last && breachText(last) };
}
