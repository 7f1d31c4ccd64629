import { MAX_GUARANTEES } from '../../../domain/grouping/guarantee';
import type { DeleteGuarantee, TakeAdmissionTurn, WriteGuarantee } from '../../port/placement-store';
import { ADMISSION_TURN, counters } from '../tables';
import type { Decided, Timed, Transaction } from '../transaction';

/** Sets a guarantee, instead of the one of that name. Refused as `full` when there are as many as may be. */
export async function writeGuarantee(tx: Transaction, { guarantee, atMs }: Timed<WriteGuarantee>): Decided {
  const present = await tx.get('guarantee', guarantee.name);
  if (!present) {
    if ((await tx.count(counters.guarantees)) >= MAX_GUARANTEES) {
      return { kind: 'full', subject: 'guarantee', most: MAX_GUARANTEES };
    }
    tx.write({ kind: 'count', name: counters.guarantees, by: 1 });
  }
  tx.put('guarantee', guarantee.name, { ...guarantee, updatedAtMs: atMs });
  return undefined;
}

/** Ends a guarantee. */
export async function deleteGuarantee(tx: Transaction, { name }: Timed<DeleteGuarantee>): Decided {
  const present = await tx.get('guarantee', name);
  if (!present) return { kind: 'not_found', subject: 'guarantee', key: name };
  tx.write({ kind: 'delete', table: 'guarantee', key: name }, { kind: 'count', name: counters.guarantees, by: -1 });
  return undefined;
}

/** Takes the turn to admit, unless another holds it; `unchanged` for who has it. */
export async function takeAdmissionTurn(tx: Transaction, { by, holdMs, atMs }: Timed<TakeAdmissionTurn>): Decided {
  const present = await tx.get('admission_turn', ADMISSION_TURN);
  if (present?.by === by) return { kind: 'unchanged' };
  // One of a clock that is ahead does not hold it longer.
  if (present && Math.abs(atMs - present.takenAtMs) < present.holdMs)
    return { kind: 'exists', subject: 'admission_turn', key: ADMISSION_TURN };
  tx.put('admission_turn', ADMISSION_TURN, { by, takenAtMs: atMs, holdMs });
  return undefined;
}
