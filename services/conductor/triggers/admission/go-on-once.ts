import type { Conductor } from '../../conductor';
import type { ReconcileInput } from '../../observation';
import { reconcile } from '../../reconcile';
import { reconcileLoop } from '../../reconcile-loop';
import type { Step } from '../../step';

const REPEATED_AFTER_MS = 60_000;

/**
 * Goes on with the instances of a client's message. Where all that is left to do is to order the host again, it does that once a minute
 * for each version of a record. Else a tenant fills an agent's queue: each copy of one request orders a thousand instances again.
 *
 * An order that was lost meanwhile is sent again when the host's report lacks the instance, or at the record's deadline.
 */
export async function goOnOnce(c: Conductor, looks: readonly ReconcileInput[]): Promise<void> {
  const ordering = new Set(looks.filter((look) => isOrder(c, look)).map(keyOf));
  const isRecent = (key: string) => c.clock.elapsed() - (c.orderedFor.get(key) ?? -Infinity) < REPEATED_AFTER_MS;
  const open = looks.filter((look) => !(ordering.has(keyOf(look)) && isRecent(keyOf(look))));
  for (const look of open) if (ordering.has(keyOf(look))) c.orderedFor.set(keyOf(look), c.clock.elapsed());
  try {
    await reconcileLoop(c, open);
  } catch (thrown) {
    for (const look of open) c.orderedFor.delete(keyOf(look));
    throw thrown;
  }
}

function keyOf({ uuid, record }: ReconcileInput): string {
  return `${uuid} ${record?.version ?? 0}`;
}

function isOrder(c: Conductor, { record, holds, observed }: ReconcileInput): boolean {
  return ORDERS.has(reconcile(record, holds, observed, c.clock.now()).kind);
}

/** Steps that send an order and write no record. */
const ORDERS: ReadonlySet<Step['kind']> = new Set<Step['kind']>([
  'order_again',
  'destroy',
  'set_power_state',
  'hand_over',
  'order_arrival',
  'order_return',
  'ask_source',
]);
