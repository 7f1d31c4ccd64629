import { isOverBudget } from '#libs/domain/grouping/disruption-budget';
import type { Instance, Pending } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { lookAt } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { withinBudget } from '../steps/within-budget';

/** The states of an instance that is on its way out. */
const LEAVING: readonly Instance['state'][] = ['deleting', 'preempting'];
/** The states of an instance that holds nothing. */
const GONE: readonly Instance['state'][] = ['scheduling', 'pending', 'error', 'deleted'];

/**
 * Has the instances end whose place a preemptor is to take, in order. Only what the preemptor's record says ends by it, so that
 * whoever dies in between leaves it to be read there; and each of them is asked again whether it is of a lower priority.
 *
 * @returns whether nothing is left to wait for: all have made room, or one of them does not (its group's disruption budget
 *   may keep it), and another place must be found
 */
export async function preempt(
  c: Conductor,
  { uuid: instanceUuid, projectId, admission, waiting }: Pending,
): Promise<boolean> {
  const reclaims = waiting.preemption?.reclaims ?? false;
  const observed = {
    kind: 'preempted',
    instanceUuid,
    projectId,
    priority: admission?.priority ?? 0,
    reclaims,
  } as const;
  const victims = waiting.preemption?.victims ?? [];
  const staying = (await c.instances.get(victims)).filter(({ state }) => ![...LEAVING, ...GONE].includes(state));
  const inOrder = victims.flatMap((uuid) => staying.find((record) => record.uuid === uuid) ?? []);
  try {
    await withinBudget(c, staying, async () => {
      for (const record of inOrder) await reconcileLoop(c, [lookAt(record, observed)]);
    });
  } catch (thrown) {
    if (isOverBudget(thrown)) return true;
    throw thrown;
  }
  const left = (await c.instances.get(victims)).filter(({ state }) => !GONE.includes(state));
  if (left.length === 0) return true;
  const down = await downHosts(c, left);
  // A host that is down takes no order: what was terminated there is gone from the books, as it would be if it were told now.
  const onDown = left.filter(({ host = '' }) => down.has(host));
  await reconcileLoop(
    c,
    onDown.filter(({ state }) => state === 'deleting').map((record) => lookAt(record, { kind: 'host_down' })),
  );
  // One that stays after all, or whose host is down or silent: nobody knows when it makes room.
  const isStaying = ({ state, dueAtMs = 0 }: Instance) => !LEAVING.includes(state) || dueAtMs <= c.clock.now();
  return onDown.length > 0 || left.some(isStaying);
}

async function downHosts(c: Conductor, records: readonly Instance[]): Promise<ReadonlySet<string>> {
  const hosts = await c.placement.hosts([...new Set(records.map(({ host = '' }) => host))]);
  return new Set(hosts.filter(({ up }) => !up).map(({ name }) => name));
}
