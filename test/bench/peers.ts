/**
 * Requests per second of OpenStack Placement 8.0.0 on the same kind of machine: 2 processors, uwsgi with 4 processes,
 * MariaDB, no Keystone, flat providers, keep-alive clients; medians of 3. Keys are those of this benchmark's results.
 */
export const PLACEMENT_8: Readonly<Record<string, number>> = {
  flat_1000_candidates_10_c1: 4.1,
  flat_1000_candidates_10_c4: 9.1,
  flat_1000_candidates_1000_c1: 3.6,
  flat_1000_candidates_1000_c4: 7.5,
  flat_10000_candidates_10_c1: 0.51,
  flat_10000_candidates_10_c4: 1.06,
  flat_10000_candidates_1000_c1: 0.48,
  flat_10000_candidates_1000_c4: 0.88,
  flat_1000_claim_c1: 34,
  flat_1000_claim_c4: 65,
  flat_1000_claim_c8: 64,
  flat_1000_cycle_c1: 3.7,
  flat_1000_cycle_c4: 8.4,
};
