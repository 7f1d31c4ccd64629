import type { Mirror } from '#libs/placement/mirror/mirror';
import type { Metrics } from '#libs/runtime/metrics';
import type { Fleet } from './fleet/fleet';
import type { KeptRanks } from './ranking/ranked-hosts';

/** What a scheduler counts. */
export type SchedulerMetrics = ReturnType<typeof schedulerMetrics>;

export function schedulerMetrics(metrics: Metrics, fleet: Fleet, ranks: KeptRanks, mirror: Mirror) {
  metrics.gauge(
    'berth_scheduler_shapes_ranked',
    'Equivalence classes of requests with ranked hosts in memory.',
    [],
    (gauge) => gauge.set(ranks.keys().length),
  );
  metrics.gauge('berth_scheduler_pending_claims', 'Claims on their way to the store.', [], (gauge) =>
    gauge.set(fleet.pending.count),
  );
  metrics.gauge('berth_scheduler_hosts', 'Hosts by state, as this scheduler sees them.', ['state'], (gauge) => {
    const counts = { up: 0, down: 0, disabled: 0 };
    for (const host of mirror.hosts()) counts[host.up ? (host.enabled ? 'up' : 'disabled') : 'down'] += 1;
    for (const [state, count] of Object.entries(counts)) gauge.set({ state }, count);
  });
  metrics.gauge('berth_scheduler_mirror_revision', 'The store revision that this scheduler sees.', [], (gauge) =>
    gauge.set(mirror.revision),
  );
  return {
    selectSeconds: metrics.histogram(
      'berth_scheduler_select_destinations_seconds',
      'Time to answer SelectDestinations.',
      ['outcome'],
    ),
    instances: metrics.counter(
      'berth_scheduler_instances_total',
      'Instances that requests asked to place, by outcome.',
      ['outcome'],
    ),
    conflicts: metrics.counter(
      'berth_scheduler_claim_conflicts_total',
      'Decisions that were made again because somebody was faster.',
    ),
    stats: metrics.counter(
      'berth_scheduler_stats_total',
      'Host reports, by outcome: accepted, or the reason of refusal.',
      ['outcome'],
    ),
    grants: metrics.counter('berth_scheduler_host_grants_total', 'Hosts that agents asked to hold, by outcome.', [
      'outcome',
    ]),
    discrepancies: metrics.counter(
      'berth_scheduler_discrepancies_total',
      'Instances on which a host report and the store disagreed.',
      ['kind'],
    ),
  };
}
