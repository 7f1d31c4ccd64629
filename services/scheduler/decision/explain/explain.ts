import type { ExplainResponse } from '#libs/contracts/diagnosis';
import { MAX_CERTIFIED_HOSTS } from '#libs/contracts/limits';
import { BerthError } from '#libs/domain/errors';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import { allows } from '../../filters/filter';
import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import { lacksOn, requiredDemands } from '../../fleet/host-capacity';
import type { HostState } from '../../fleet/host-state';
import { nominationsBefore } from '../../fleet/leases/nominations';
import { locate } from '../../fleet/located-request';
import { askedOf } from '../../fleet/quota-exceeded';
import type { GuaranteeKeeper } from '../../guarantee/guarantee-keeper';
import { unguardedHosts } from '../../guarantee/guarantee-status';
import { CANDIDATES, needsSearch, noCandidate, searchOn } from '../../ranking/candidates';
import { Judgement, placesOf, type Refusal } from '../../ranking/judgement';
import { best } from '../../ranking/ranked-hosts';
import { RequestConstraints } from '../../ranking/request-constraints';
import type { ClassifiedSpec, EquivalenceClass } from '../../request/equivalence-class';
import { endOf } from '../../reservation/holdings';
import { besideReservations } from '../../reservation/reserved-fleet';
import { completeRequest } from '../complete-request';
import { diagnose } from '../diagnose';
import type { DecisionParts } from '../pick-hosts';
import { findDisplacement } from '../preemption/find-displacement';
import { findPreemption, type PreemptionSearch } from '../preemption/find-preemption';
import { sparedLenders } from '../preemption/lent-quota';
import { verdictOn } from '../verdict';
import { namingWhatNobodyHas } from './nobody-has';
import { certificateOf, type RefusedHost, relaxationsOf } from './relaxations';

/** A request to explain. */
export interface ExplainedRequest extends ClassifiedSpec {
  /** '' for the best hosts, at most `limit`. */
  readonly host: string;
  readonly limit: number;
  /** A filter or a reason: hosts that it refuses, in place of the best. */
  readonly refusedBy?: string | undefined;
  readonly timeLimitMs?: number | undefined;
  readonly priority?: number | undefined;
  readonly mayPreempt?: boolean | undefined;
  readonly mayDisplace?: boolean | undefined;
  readonly certificate?: boolean | undefined;
  readonly stayingInstanceUuids?: readonly string[] | undefined;
}

/**
 * The decision for one instance as a dry run: the best hosts with what each weigher gives them, and why the others are
 * refused. With a host named: that host alone, with every filter that refuses it. With `refusedBy`: hosts that this filter
 * or reason counts, in the order of their names.
 *
 * @throws BerthError `not_found / no_such_host`; what `completeRequest` throws.
 */
export function explain(
  {
    host: name,
    limit,
    priority = 0,
    mayPreempt,
    mayDisplace,
    stayingInstanceUuids,
    certificate,
    refusedBy = '',
    timeLimitMs,
    ...asked
  }: ExplainedRequest,
  nowMs: number,
  parts: DecisionParts & { readonly guarantees?: GuaranteeKeeper },
): ExplainResponse {
  const { fleet, pricing, rankHosts, settings } = parts;
  const { spec, equivalenceClass } = completeRequest(asked, fleet);
  const endsAtMs = timeLimitMs === undefined ? undefined : endOf(timeLimitMs, nowMs, settings);
  const reserved = besideReservations({ spec, instanceUuids: [], endsAtMs }, nowMs, fleet, fleet.snapshot(nowMs));
  const { snapshot, within } = reserved;
  const nominations = nominationsBefore({ instanceUuids: [], priority }, fleet.view, nowMs);
  const isOpen = placesOf(equivalenceClass, settings);
  // A certificate is checked against rows of the store, which no witness is among.
  const guarantees = certificate ? undefined : parts.guarantees;
  const { unguarded, why } = unguardedHosts({ spec, equivalenceClass, priority }, nowMs, { ...parts, guarantees });
  const located = locate(spec, [NEW_INSTANCE], { fleet, snapshot, isOpen }, { nominations, unguarded, within });
  const constraints = new RequestConstraints(located, settings);
  const ranked = rankHosts(equivalenceClass, snapshot);
  const named = name === '' ? undefined : snapshot.at(fleet.indexOfHost(name));
  if (name !== '' && !named) throw new BerthError('not_found', 'no_such_host', `there is no host '${name}'`);
  const bestHosts = () => best(limit, ranked.bestFirst(constraints, seededRandom(0))).map(({ host }) => host);
  const judgement = new Judgement(equivalenceClass, settings, pricing.prices);
  const feasibility = ranked.feasibility(constraints);
  const refused =
    named || feasibility.feasibleCount > 0 ? [] : refusedHosts({ snapshot, equivalenceClass, judgement, constraints });
  const hosts = named
    ? [named]
    : refusedBy === ''
      ? bestHosts()
      : hostsRefusedBy(refusedBy, { snapshot, equivalenceClass, judgement, constraints }).slice(0, limit);
  const search = { fleet, snapshot, equivalenceClass, constraints, judgement, view: fleet.view };
  const isRefused = feasibility.feasibleCount === 0;
  const preemption = isRefused && mayPreempt ? preemptionOf(spec, { ...search, priority }) : undefined;
  const displacement =
    isRefused && mayDisplace ? findDisplacement(search, isOpen, new Set(stayingInstanceUuids)) : undefined;
  const prices = pricing.of(snapshot);
  const relaxed = relaxationsOf(refused);
  const isCertified = certificate && refused.length > 0 && refused.length <= MAX_CERTIFIED_HOSTS;
  const plain = diagnose(feasibility, located.quotaExceeded);
  const diagnosis = isRefused ? namingWhatNobodyHas(plain, spec, search) : plain;
  return {
    diagnosis: isRefused && why !== undefined ? { ...diagnosis, summary: `${diagnosis.summary}; ${why}` } : diagnosis,
    hosts: hosts.map((host) => verdictOn(host, equivalenceClass, { judgement, constraints, prices })),
    ...relaxed,
    ...(isCertified ? { certificate: [...certificateOf(refused, relaxed.conflict)] } : {}),
    ...(preemption ? { preemption } : {}),
    ...(displacement ? { displacement } : {}),
  };
}

/** The one to be placed: nobody has this uuid. */
const NEW_INSTANCE = '';

interface Explaining {
  readonly snapshot: FleetSnapshot;
  readonly equivalenceClass: EquivalenceClass;
  readonly judgement: Judgement;
  readonly constraints: RequestConstraints;
}

/** Every host of a fleet of which none is feasible. */
function refusedHosts({ snapshot, equivalenceClass, ...refusing }: Explaining): readonly RefusedHost[] {
  const demands = requiredDemands(equivalenceClass);
  const refused: RefusedHost[] = [];
  snapshot.hosts.forEach((_, host) => {
    const reasons = refusalsOn(host, refusing).map(({ reason }) => reason);
    if (reasons.length === 0) reasons.push(noCandidate(equivalenceClass));
    refused.push({ host, reasons, lacks: lacksOn(host, demands) });
  });
  return refused;
}

/** The hosts that a filter or a reason refuses, as a diagnosis counts them. */
function hostsRefusedBy(name: string, { snapshot, equivalenceClass, ...refusing }: Explaining): HostState[] {
  const search = { filter: CANDIDATES, reason: noCandidate(equivalenceClass) };
  const isMeant = ({ filter, reason }: Refusal) => filter === name || reason.symbol === name;
  const isRefused = (host: HostState) => {
    const refusals = refusalsOn(host, refusing);
    if (refusals.length > 0 || !isMeant(search)) return refusals.some(isMeant);
    return needsSearch(equivalenceClass, host) && !searchOn(equivalenceClass, host);
  };
  const refused: HostState[] = [];
  snapshot.hosts.forEach((_, host) => {
    if (isRefused(host)) refused.push(host);
  });
  return refused.sort((a, b) => (a.host.name < b.host.name ? -1 : 1));
}

/** The refusals of a host by filters of both kinds; the search of candidates is not among them. */
function refusalsOn(
  host: HostState,
  { judgement, constraints: { constraints } }: Pick<Explaining, 'judgement' | 'constraints'>,
): readonly Refusal[] {
  return [...judgement.refusals(host), ...constraints.filter((constraint) => !allows(constraint, host.index))];
}

/** The preemption that one instance of a spec would lead to. */
function preemptionOf(spec: RequestSpec, search: Omit<PreemptionSearch, 'random'>) {
  const { priority, view } = search;
  const preemptor = { projectId: spec.projectId, priority, asked: askedOf(spec, 1) };
  const isSpared = sparedLenders(preemptor, view.quotas);
  return findPreemption({ ...search, isSpared, random: seededRandom(0) })?.view;
}
