import { type ClaimStep, type Claims, NO_CLAIMS, stepClaims, wrongWithClaims } from './claims';
import { type LeaseStep, type Leases, stepLeases, wrongWithLeases } from './leases';
import { type PoolStep, type Pools, stepPools, wrongWithPools } from './pools';
import { NO_RECORDS, type RecordStep, type Records, stepRecords } from './records';
import { type ReservationStep, type Reservations, stepReservations, wrongWithReservations } from './reservations';
import { type Broken, broken, isBroken } from './step';

/** All that a store, and the bus beside it, went through, as far as the protocol goes. */
export interface Protocol {
  readonly claims: Claims;
  readonly leases: Leases;
  readonly pools: Pools;
  readonly records: Records;
  readonly reservations: Reservations;
}

export const NOTHING: Protocol = { claims: NO_CLAIMS, leases: {}, pools: {}, records: NO_RECORDS, reservations: {} };

export type ProtocolStep =
  | { readonly of: 'claims'; readonly step: ClaimStep }
  | { readonly of: 'leases'; readonly step: LeaseStep }
  | { readonly of: 'pools'; readonly step: PoolStep }
  | { readonly of: 'records'; readonly step: RecordStep }
  | { readonly of: 'reservations'; readonly step: ReservationStep };

/** The state after a step, or the rule that the step breaks, or the invariant that it leaves broken. */
export function stepProtocol(before: Protocol, { of, step }: ProtocolStep): Protocol | Broken {
  switch (of) {
    case 'claims': {
      const claims = stepClaims(before.claims, step);
      return isBroken(claims) ? claims : checked({ ...before, claims }, wrongWithClaims(before.claims, claims, step));
    }
    case 'leases': {
      const leases = stepLeases(before.leases, step);
      return isBroken(leases) ? leases : checked({ ...before, leases }, wrongWithLeases(before.leases, leases, step));
    }
    case 'pools': {
      const pools = stepPools(before.pools, step);
      return isBroken(pools) ? pools : checked({ ...before, pools }, wrongWithPools(before.pools, pools, step));
    }
    case 'records': {
      const records = stepRecords(before.records, step);
      return isBroken(records) ? records : { ...before, records };
    }
    case 'reservations': {
      const reservations = stepReservations(before.reservations, step);
      return isBroken(reservations)
        ? reservations
        : checked({ ...before, reservations }, wrongWithReservations(reservations));
    }
  }
}

function checked(after: Protocol, wrong: string | undefined): Protocol | Broken {
  return wrong === undefined ? after : broken(wrong);
}

/**
 * A store that went back to an earlier state: what it wrote since is lost. What went over the bus is not, and what was begun or
 * written by then may still be ordered and told. Numbers go on from where they were, so that none is given twice.
 */
export function wentBack(lost: Protocol, kept: Protocol): Protocol {
  const { published, begun, ordered, versions } = lost.records;
  const claims = { ...kept.claims, lastToken: Math.max(kept.claims.lastToken, lost.claims.lastToken) };
  const reservations = Object.fromEntries(
    Object.entries(lost.reservations).map(([uuid, was]) => {
      const { state, cells = [], isReserved = false } = kept.reservations[uuid] ?? {};
      return [uuid, { ...was, state, cells, isReserved }] as const;
    }),
  );
  // Epochs of hosts follow the clock. Tasks have no fence: each may be done twice, and a forgotten lease is nobody's.
  const leases = Object.fromEntries(Object.entries(kept.leases).filter(([name]) => !name.startsWith('task ')));
  return { ...kept, claims, leases, reservations, records: { ...kept.records, published, begun, ordered, versions } };
}
