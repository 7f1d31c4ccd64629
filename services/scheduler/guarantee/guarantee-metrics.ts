import type { Log } from '#libs/runtime/log';
import type { Metrics } from '#libs/runtime/metrics';
import type { KeptParts } from './decide-kept';
import type { GuaranteeKeeper } from './guarantee-keeper';

/** Guarantees that are measured, and what notes their effect on requests. */
export function measuredGuarantees(
  { metrics, log }: { readonly metrics: Metrics; readonly log: Log },
  keeper: GuaranteeKeeper,
): Pick<KeptParts, 'guarantees' | 'noteGuarantee'> {
  const gauge = (name: string, help: string, valueOf: (kept: GuaranteeKeeper['kept'][number]) => number) =>
    metrics.gauge(name, help, ['guarantee'], (one) => {
      for (const kept of keeper.kept) one.set({ guarantee: kept.guarantee.name }, valueOf(kept));
    });
  gauge(
    'berth_scheduler_guarantee_losses',
    'Losses that a guarantee declares; 0 when there are too many to keep.',
    (kept) => kept.losses.length,
  );
  gauge(
    'berth_scheduler_guarantee_broken_losses',
    'Losses of a guarantee that the fleet would not stand now.',
    ({ losses }) => losses.filter(({ witness }) => witness.unplaced.size > 0).length,
  );
  gauge(
    'berth_scheduler_guarantee_unplaced',
    'Instances without a place elsewhere, in the worst loss of a guarantee.',
    ({ losses }) => losses.reduce((worst, { witness }) => Math.max(worst, witness.unplaced.size), 0),
  );
  metrics.gauge(
    'berth_scheduler_guarantee_unread',
    'Instances for which no place is kept yet, because what they need is not read.',
    [],
    (one) => one.set(keeper.unread().length),
  );
  const requests = metrics.counter(
    'berth_scheduler_guarantee_requests_total',
    'Requests that guarantees refused or flagged, and instances that left dead hosts by plan or otherwise.',
    ['outcome'],
  );
  const noteGuarantee: KeptParts['noteGuarantee'] = (outcome, why) => {
    requests.inc({ outcome });
    if (outcome === 'flagged') log.warn({ event: 'guarantee_flagged' }, `placed all the same: ${why}`);
    else log.info({ event: `guarantee_${outcome}` }, why);
  };
  return { guarantees: keeper, noteGuarantee };
}
