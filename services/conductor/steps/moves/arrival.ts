import type { Instance, Moving } from '#libs/domain/instance';
import type { Conductor } from '../../conductor';
import { attemptOn, MAX_ATTEMPTS_KEPT, writeRecord } from '../../lifecycle';
import type { ReconcileInput } from '../../observation';
import { isMoving, isReturnOrdered } from '../../reconcile/moves';
import type { Step } from '../../step';
import { after } from '../after';
import { addressOf, orderArrival, orderReturn } from '../orders';

/** A new attempt on a host. */
export function begun(c: Conductor, { attempts }: Instance, host: string, number: number) {
  const nowMs = c.clock.now();
  const kept = [...attempts, attemptOn(host, number, nowMs)].slice(-MAX_ATTEMPTS_KEPT);
  // Reports of different hosts have no common order.
  const place = { host, activeAt: undefined, missingIn: undefined };
  return { ...place, attempts: kept, dueAtMs: nowMs + c.config.buildTimeoutMs };
}

/** Orders the host of what is moved to go on with it. */
export async function order(
  c: Conductor,
  look: ReconcileInput,
  record: Moving,
  again: Pick<Extract<Step, { kind: 'order_arrival' }>, 'isAgain'> = {},
): Promise<ReconcileInput | undefined> {
  const refused = await orderArrival(c, record, { isReturn: isReturnOrdered(record), ...again });
  return refused && { ...look, record, observed: refused };
}

/** Orders the host of what goes on there once more, when the store knows this epoch of the host; by which is kept first. */
export async function orderSince(
  c: Conductor,
  look: ReconcileInput,
  record: Instance,
  sinceEpoch: number,
): Promise<ReconcileInput | undefined> {
  const { epoch } = await addressOf(c, record.host ?? '');
  // It would be refused once more; when it is overdue it is ordered again.
  if (epoch < sinceEpoch) return undefined;
  const last = record.attempts.length - 1;
  const attempts = record.attempts.map((one, n) => (n === last ? { ...one, orderedEpoch: epoch } : one));
  const result = await writeRecord(c, record, { attempts });
  if (result.kind !== 'written') return after(look, result, undefined);
  if (isMoving(result.record)) return order(c, look, result.record, { isAgain: true });
  await orderReturn(c, result.record);
  return undefined;
}
