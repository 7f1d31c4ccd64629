import type { Instance, Moving } from '#libs/domain/instance';
import type { Conductor } from '../../conductor';
import { attemptOn, MAX_ATTEMPTS_KEPT } from '../../lifecycle';
import type { ReconcileInput } from '../../observation';
import { isReturnOrdered } from '../../reconcile/moves';
import type { Step } from '../../step';
import { orderArrival } from '../orders';

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
  again: Pick<Extract<Step, { kind: 'order_arrival' }>, 'isAgain' | 'sinceEpoch'> = {},
): Promise<ReconcileInput | undefined> {
  const refused = await orderArrival(c, record, { isReturn: isReturnOrdered(record), ...again });
  return refused && { ...look, record, observed: refused };
}
