import { allows, type Constraint, type RequestFilter } from '../filters/filter';
import type { HostSet } from '../fleet/host-domains';
import { type LocatedRequest, type RefusedClaims, type WithinReservation, withMembers } from '../fleet/located-request';
import { WEIGHERS, type WeigherEntry, type Weights } from '../weighers/registry';
import { normalise, type RequestMeasure, type RequestWeigher } from '../weighers/weigher';

/** Constraint settings of operators. */
export interface ConstraintSettings extends Weights {
  /** The filters in use, in order. */
  readonly requestFilters: readonly RequestFilter[];
}

/** A constraint and the filter that set it. */
export interface NamedConstraint extends Constraint {
  readonly filter: string;
}

/**
 * The part of a request beyond its equivalence class: hosts that it must or must not have, and weights that members of
 * its group give to some hosts. Immutable.
 */
export class RequestConstraints {
  readonly constraints: readonly NamedConstraint[];
  /** The hosts of the tightest constraint that names the only ones; undefined when all others are possible. */
  readonly only: HostSet | undefined;
  /** Hosts whose weight differs from the usual. */
  readonly weighted: ReadonlyMap<number, number>;
  /** Weight that request weighers give to every other host. */
  readonly usualWeight: number;
  private readonly measures: readonly WeightedMeasure[];

  constructor(
    private readonly request: LocatedRequest,
    private readonly settings: ConstraintSettings,
  ) {
    this.constraints = constraintsOf(request, settings.requestFilters);
    this.only = tightest(this.constraints);
    this.measures = measuresOf(request, settings);
    this.usualWeight = sumOf(this.measures, undefined);
    const weighted = new Map<number, number>();
    for (const { measure } of this.measures) {
      for (const index of measure.raw.keys()) weighted.set(index, sumOf(this.measures, index));
    }
    this.weighted = weighted;
  }

  /** The constraints once so many members of the request's group are more, or less, on a host. */
  withMembers(index: number, count: number): RequestConstraints {
    if (!this.request.members) return this;
    return new RequestConstraints(withMembers(this.request, index, count), this.settings);
  }

  allows(index: number): boolean {
    for (const constraint of this.constraints) if (!allows(constraint, index)) return false;
    return true;
  }

  /** A host's weight by request weighers. */
  weight(index: number): number {
    return this.weighted.get(index) ?? this.usualWeight;
  }

  /** Each request weigher's part in a host's weight. */
  weights(index: number): Record<string, number> {
    return Object.fromEntries(this.measures.map((part) => [part.weigher, shareOf(part, index)]));
  }
}

const REQUEST_WEIGHERS = WEIGHERS.filter((entry): entry is WeigherEntry<RequestWeigher> => entry[0].kind === 'request');

interface WeightedMeasure {
  readonly weigher: string;
  readonly weight: number;
  readonly measure: RequestMeasure;
}

// Most requests name nothing: the two that say so make one empty list each.

function constraintsOf(request: LocatedRequest, filters: readonly RequestFilter[]): NamedConstraint[] {
  const constraints: NamedConstraint[] = [];
  for (const filter of filters) {
    const constraint = filter.prepare(request);
    if (constraint) constraints.push({ filter: filter.name, ...constraint });
  }
  if (request.within) constraints.push(onlyReserved(request.within));
  if (request.refusedClaims.size > 0) constraints.push(exceptRefused(request.refusedClaims));
  if (request.unconfirmed.size > 0) constraints.push(exceptUnconfirmed(request.unconfirmed));
  if (request.unguarded.size > 0) constraints.push(exceptUnguarded(request.unguarded));
  return constraints;
}

/** The reservation that a request names, which comes after all filters. */
export const RESERVATION = 'reservation';
const OUTSIDE_RESERVATION: Readonly<Record<WithinReservation['symbol'], string>> = {
  not_reserved: 'have no unit of the reservation',
  reservation_not_open: 'are kept until the reservation begins',
  no_such_reservation: 'have no such reservation',
};

function onlyReserved({ hosts, symbol, why }: WithinReservation): NamedConstraint {
  const reason = { symbol, phrase: OUTSIDE_RESERVATION[symbol] };
  return { filter: RESERVATION, kind: 'only', hosts, reason, describe: () => why };
}

/** The store's own check, which comes after all filters. */
export const CLAIM = 'claim';
export const CLAIM_REFUSED = { symbol: 'claim_refused', phrase: 'had the claim refused by the store' } as const;

function exceptRefused(refusedClaims: RefusedClaims): NamedConstraint {
  return {
    filter: CLAIM,
    kind: 'except',
    hosts: new Set(refusedClaims.keys()),
    reason: CLAIM_REFUSED,
    describe: ({ index }) => `the store refused the claim: ${refusedClaims.get(index)}`,
  };
}

/** The hosts' own check, where a request asks for it. */
export const CONFIRMATION = 'confirmation';
export const HOST_UNCONFIRMED = { symbol: 'host_unconfirmed', phrase: 'did not confirm the claim' } as const;

function exceptUnconfirmed(unconfirmed: RefusedClaims): NamedConstraint {
  return {
    filter: CONFIRMATION,
    kind: 'except',
    hosts: new Set(unconfirmed.keys()),
    reason: HOST_UNCONFIRMED,
    describe: ({ index }) => `the host did not confirm the claim: ${unconfirmed.get(index)}`,
  };
}

/** Standing guarantees, which come after all filters. */
export const GUARANTEE = 'guarantee';
export const NO_FAILOVER = {
  symbol: 'no_failover_capacity',
  phrase: 'have capacity that a guarantee keeps for a loss',
} as const;

function exceptUnguarded(unguarded: RefusedClaims): NamedConstraint {
  return {
    filter: GUARANTEE,
    kind: 'except',
    hosts: new Set(unguarded.keys()),
    reason: NO_FAILOVER,
    describe: ({ index }) => `${unguarded.get(index)}`,
  };
}

function measuresOf(request: LocatedRequest, weights: Weights): WeightedMeasure[] {
  const measures: WeightedMeasure[] = [];
  for (const [weigher, setting] of REQUEST_WEIGHERS) {
    const weight = weights[setting];
    const measure = weight === 0 ? undefined : weigher.prepare(request);
    if (measure) measures.push({ weigher: weigher.name, weight, measure });
  }
  return measures;
}

function shareOf({ weight, measure }: WeightedMeasure, index: number | undefined): number {
  const raw = index === undefined ? 0 : (measure.raw.get(index) ?? 0);
  return weight * normalise(raw, measure.lower, measure.upper);
}

function sumOf(measures: readonly WeightedMeasure[], index: number | undefined): number {
  return measures.reduce((sum, part) => sum + shareOf(part, index), 0);
}

function tightest(constraints: readonly Constraint[]): HostSet | undefined {
  let only: HostSet | undefined;
  for (const { kind, hosts } of constraints) {
    if (kind === 'only' && (only === undefined || hosts.size < only.size)) only = hosts;
  }
  return only;
}
