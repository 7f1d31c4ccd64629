import { AGENT_MUTANTS } from './agent-mutants';
import { BOUND_MUTANTS } from './bound-mutants';
import { CELLS_MUTANTS } from './cells-mutants';
import { CONDUCTOR_MUTANTS } from './conductor-mutants';
import { EVIDENCE_MUTANTS } from './evidence-mutants';
import { IDENTITY_MUTANTS } from './identity-mutants';
import type { Mutant } from './mutant';
import { DEVICE_MUTANTS } from './operations/device-mutants';
import { EVACUATION_MUTANTS } from './operations/evacuation-mutants';
import { GANG_MUTANTS } from './operations/gang-mutants';
import { GUARANTEE_MUTANTS } from './operations/guarantee-mutants';
import { HOST_MUTANTS } from './operations/host-mutants';
import { MOVE_MUTANTS } from './operations/move-mutants';
import { POWER_MUTANTS } from './operations/power-mutants';
import { QUEUE_MUTANTS } from './operations/queue-mutants';
import { QUOTA_MUTANTS } from './operations/quota-mutants';
import { RESERVATION_MUTANTS } from './operations/reservation-mutants';
import { SHELVING_MUTANTS } from './operations/shelving-mutants';
import { ZONE_MUTANTS } from './operations/zone-mutants';
import { RECONCILE_MUTANTS } from './reconcile-mutants';
import { RING_MUTANTS } from './ring-mutants';
import { STORE_MUTANTS } from './store-mutants';

/** All mutants; each must break an invariant within `MOST_SEEDS` seeds. */
export const MUTANTS: readonly Mutant[] = [
  ...RECONCILE_MUTANTS,
  ...EVIDENCE_MUTANTS,
  ...CONDUCTOR_MUTANTS,
  ...AGENT_MUTANTS,
  ...IDENTITY_MUTANTS,
  ...STORE_MUTANTS,
  ...POWER_MUTANTS,
  ...EVACUATION_MUTANTS,
  ...QUEUE_MUTANTS,
  ...SHELVING_MUTANTS,
  ...MOVE_MUTANTS,
  ...HOST_MUTANTS,
  ...QUOTA_MUTANTS,
  ...GANG_MUTANTS,
  ...ZONE_MUTANTS,
  ...DEVICE_MUTANTS,
  ...RESERVATION_MUTANTS,
  ...BOUND_MUTANTS,
  ...RING_MUTANTS,
  ...CELLS_MUTANTS,
  ...GUARANTEE_MUTANTS,
];

/** Those that break a step of the protocol's model, whatever other invariants say. */
export const CAUGHT_BY_TRACE: readonly string[] = [
  'capacity-not-checked',
  'anybody-holds',
  'versions-not-checked',
  'derived-uuids-are-chosen',
  'own-version-only',
  'no-outbox',
];

export const MOST_SEEDS = 50;

/** The mutant of a name. */
export function mutantOf(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (mutant) return mutant;
  throw new Error(`there is no mutant ${name}; there are ${MUTANTS.map((one) => one.name).join(', ')}`);
}
