import * as reservation from '#libs/domain/queueing/reservation';
import * as reservedRoom from '#libs/placement/commands/claims/reserved-room';
import { Transaction } from '#libs/placement/commands/transaction';
import * as lifecycle from '../../../../services/conductor/lifecycle';
import * as keeping from '../../../../services/scheduler/reservation/keep-reservations';
import { type Mutant, mutant, withFocus } from '../mutant';

const FOCUS = ['reserve units', 'window begins soon', 'build in a reservation', 'backfill'] as const;

export const RESERVATION_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('reserved-not-checked', 'that the commit looks at reservations', reservedRoom, 'reservedFrom', () => {
      return () => ({});
    }),
    ...FOCUS,
  ),
  withFocus(
    mutant('units-not-counted', 'that claims count the units in use', reservedRoom, 'joinReservation', () => {
      return () => undefined;
    }),
    ...FOCUS,
  ),
  withFocus(
    mutant('ends-in-time-always', 'looking at time limits', reservation, 'keptFrom', (original) => {
      return (use, ...beside) => original({ ...use, endsAtMs: use.startsAtMs }, ...beside);
    }),
    ...FOCUS,
  ),
  withFocus(
    mutant(
      'deleted-reservations-keep',
      'that a deleted reservation keeps nothing',
      Transaction.prototype,
      'write',
      (original) => {
        return function write(this: Transaction, ...writes) {
          if (writes.some((one) => one.kind === 'delete' && one.table === 'reservation')) {
            const left = this.writes.filter((one) => !('table' in one && one.table === 'nomination'));
            this.writes.splice(0, this.writes.length, ...left);
          }
          original.call(this, ...writes);
        };
      },
    ),
    ...FOCUS,
    'delete a reservation',
  ),
  withFocus(
    mutant('nobody-keeps-units', 'looking after reservations', keeping, 'keepReservations', () => {
      return async () => {};
    }),
    ...FOCUS,
  ),
  withFocus(
    mutant('adopted-for-good', 'the time limit of an adopted record', lifecycle, 'createRecords', (original) => {
      return (c, requestId, records, terms) => {
        const lasting = records.map((one) => (one.endsAtMs ? { ...one, endsAtMs: undefined } : one));
        return original(c, requestId, lasting, terms);
      };
    }),
    ...FOCUS,
    'store is wiped',
  ),
];
