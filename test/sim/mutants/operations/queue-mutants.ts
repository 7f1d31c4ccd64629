import * as sharing from '../../../../libs/domain/queueing/fair-share';
import * as using from '../../../../libs/domain/quotas/recent-use';
import * as orders from '../../../../services/conductor/steps/orders';
import * as confirming from '../../../../services/scheduler/confirmation/confirm';
import * as finding from '../../../../services/scheduler/decision/preemption/find-preemption';
import * as reclaiming from '../../../../services/scheduler/decision/preemption/reclaim';
import { type Mutant, mutant, withFocus } from '../mutant';
import { withRule } from '../reconcile-mutants';

export const QUEUE_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant(
      'confirmation-ignored',
      'the word of a host that is asked',
      confirming,
      'confirmer',
      (original) => (parts) => {
        const confirm = original(parts);
        return async (...asked) => {
          await confirm(...asked);
          return [];
        };
      },
    ),
    'build that waits',
    'machine shrinks',
    'second agent',
  ),
  withFocus(
    withRule('time-limit-is-ignored', 'the end of what has a time limit', (_look, step) =>
      step.kind === 'record_deleting' && step.fault?.reason === 'time_limit'
        ? { kind: 'none', because: 'at rest' }
        : undefined,
    ),
    'build that waits',
  ),
  withFocus(
    withRule('waits-for-ever', 'the end of the time to wait', ({ record }, step) =>
      record?.state === 'pending' && step.kind === 'record_error' ? { kind: 'wait', untilMs: undefined } : undefined,
    ),
    'fleet is crowded',
  ),
  withFocus(
    mutant('first-come-first-served', 'the order of priorities', sharing, 'inFairOrder', (original) => {
      return (waiters, shares) => ({
        ...original(waiters, shares),
        waiters: waiters.toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs),
      });
    }),
    'build that waits',
    'fleet is crowded',
    'terminate',
  ),
  withFocus(
    mutant('shares-do-not-count', 'the order of projects by what they use', sharing, 'inFairOrder', (original) => {
      const byAge = (a: sharing.FairWaiter, b: sharing.FairWaiter) =>
        b.priority - a.priority || a.arrivedAtMs - b.arrivedAtMs;
      return (waiters, shares) => ({ ...original(waiters, shares), waiters: waiters.toSorted(byAge) });
    }),
    'build that waits',
    'fleet is crowded',
  ),
  withFocus(
    mutant('use-is-never-forgotten', 'the half-life of what was used', using, 'recentUseAt', (original) => {
      return (last, ledger, at) => {
        const use = original(last, ledger, at);
        const most = (name: string) => Math.max(use.averages[name] ?? 0, last?.averages[name] ?? 0);
        const names = [...Object.keys(use.averages), ...Object.keys(last?.averages ?? {})];
        return { ...use, averages: Object.fromEntries(names.map((name) => [name, most(name)])) };
      };
    }),
    'build that waits',
    'terminate',
  ),
  withFocus(
    mutant(
      'destroy-is-ordered-once',
      'ordering a destruction again before a record is closed without word',
      orders,
      'orderDestroy',
      (original) => {
        return async (c, uuid, step) => (step.attempt === 0 && !step.reports ? 'host_down' : original(c, uuid, step));
      },
    ),
    'build that waits',
    'evacuate a dead host',
    'cut off',
    'die in the middle',
  ),
  withFocus(
    mutant('more-go-than-must', 'that no more make room than must', finding, 'findPreemption', (original) => {
      return (search, count) => withAllOnHost(original(search, count), search);
    }),
    'several make room',
  ),
  withFocus(
    mutant('takes-back-from-all', 'who has borrowed what is taken back', reclaiming, 'findReclaim', (original) => {
      return (search) => withAllOnHost(original(search), search);
    }),
    'tenants lend each other',
  ),
];

/** All instances of lower priorities on the host make room besides. */
function withAllOnHost(
  found: finding.FoundPreemption | undefined,
  { view, priority }: finding.PreemptionSearch,
): finding.FoundPreemption | undefined {
  if (found === undefined) return undefined;
  const roots = new Set(found.places.map(({ rootUuid }) => rootUuid));
  const uuids = [...roots].flatMap((root) => view.tree(root).flatMap(({ uuid }) => [...view.consumersOn(uuid)]));
  const lower = [...new Set(uuids)]
    .map((uuid) => view.consumer(uuid))
    .filter((one) => one !== undefined)
    .filter((one) => finding.isInstance(one) && !one.isProtected && finding.priorityOf(one) < priority);
  const victims = lower.map((one) => ({ instanceUuid: one.uuid, priority: finding.priorityOf(one) }));
  const before = found.view.victims.filter((one) => !victims.some((other) => other.instanceUuid === one.instanceUuid));
  return { ...found, view: { ...found.view, victims: [...before, ...victims] } };
}
