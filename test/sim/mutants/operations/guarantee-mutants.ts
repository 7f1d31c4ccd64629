import * as admissionTurns from '../../../../services/scheduler/guarantee/admission-turns';
import { GuaranteeKeeper } from '../../../../services/scheduler/guarantee/guarantee-keeper';
import { Witness } from '../../../../services/scheduler/guarantee/witness';
import { inWorld, type Mutant, mutant } from '../mutant';

export const GUARANTEE_MUTANTS: readonly Mutant[] = [
  inWorld(
    'racks',
    mutant(
      'reports-change-no-witness',
      'that a witness follows what hosts report',
      Witness.prototype,
      'rebase',
      (original) => {
        return function rebase(this: Witness<never, never>, host: number, hasShrunk = false) {
          if (hasShrunk) original.call(this, host, hasShrunk);
        };
      },
    ),
    'machine shrinks',
    'set a guarantee',
  ),
  inWorld(
    'racks',
    mutant(
      'others-have-no-places',
      'reading what others place',
      GuaranteeKeeper.prototype,
      'dueUnread',
      () => () => [],
    ),
    'build at once',
    'set a guarantee',
  ),
  inWorld(
    'racks',
    mutant(
      'claims-change-no-witness',
      'that a witness follows the claims of others',
      Witness.prototype,
      'rebase',
      (original) => {
        return function rebase(this: Witness<never, never>, host: number, hasShrunk = false) {
          if (!hasShrunk) original.call(this, host, hasShrunk);
        };
      },
    ),
    'nova claims',
    'set a guarantee',
  ),
  inWorld(
    'racks',
    mutant('no-plan', 'that what leaves a dead host follows the witness', GuaranteeKeeper.prototype, 'plansFor', () => {
      return () => [];
    }),
    'set a guarantee',
  ),
  inWorld(
    'racks',
    mutant(
      'lost-places-are-open',
      'that a place of what is lost is kept from others',
      GuaranteeKeeper.prototype,
      'breachOfMove',
      () => () => undefined,
    ),
    'set a guarantee',
    'build at once',
  ),
  inWorld(
    'racks',
    mutant(
      'no-turns-to-admit',
      'that one scheduler at a time admits under guarantees',
      admissionTurns,
      'turnsToAdmit',
      () => () => async () => undefined,
    ),
    'build at once',
    'set a guarantee',
  ),
];
