import type { Clock } from '#libs/domain/clock';
import type { Host } from '#libs/domain/host';
import { capacityOf } from '#libs/domain/inventory';
import { exceededBy } from '#libs/domain/quotas/quota';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Metrics } from '#libs/runtime/metrics';
import { capacityMetrics } from './capacity-metrics';
import type { Fleet } from './fleet/fleet';
import type { Quarantines } from './fleet/quarantine';
import type { KeptRanks } from './ranking/ranked-hosts';

/** Metrics of a scheduler. */
export type SchedulerMetrics = ReturnType<typeof schedulerMetrics>;

interface Measured {
  readonly fleet: Fleet;
  readonly ranks: KeptRanks;
  readonly mirror: Mirror;
  readonly clock: Clock;
}

export function schedulerMetrics(metrics: Metrics, measured: Measured) {
  measureState(metrics, measured);
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
    notHeld: metrics.counter(
      'berth_scheduler_not_held_total',
      'Instances of which alternates, or the room that others make, could not be held, by what and why.',
      ['kind', 'reason'],
    ),
    asked: metrics.counter(
      'berth_scheduler_hosts_asked_total',
      'Hosts that were asked before they were selected: confirmed, refused, silent.',
      ['outcome'],
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

function measureState(metrics: Metrics, { fleet, ranks, mirror, clock }: Measured): void {
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
    const counts = { up: 0, down: 0, disabled: 0, quarantined: 0 };
    const quarantines = fleet.quarantines(clock.now());
    for (const host of mirror.hosts()) counts[stateOf(host, quarantines)] += 1;
    for (const [state, count] of Object.entries(counts)) gauge.set({ state }, count);
  });
  metrics.gauge(
    'berth_scheduler_hosts_spared',
    'Hosts that keep failing and get instances all the same: as many as may be in quarantine are.',
    [],
    (gauge) => gauge.set(fleet.quarantines(clock.now()).spared.size),
  );
  metrics.gauge(
    'berth_scheduler_inventories_over_capacity',
    'Inventories of which more is allocated than their capacity: forced claims of what runs, or a capacity that shrank.',
    [],
    (gauge) => gauge.set(countOverCapacity(mirror)),
  );
  capacityMetrics(metrics, mirror);
  metrics.gauge(
    'berth_scheduler_projects_over_quota',
    'Projects that hold more than a limit of theirs: what runs was claimed again, or a limit was lowered.',
    [],
    (gauge) => gauge.set(mirror.quotas.projects().filter((one) => exceededBy(one, mirror.quotas).length > 0).length),
  );
  metrics.gauge(
    'berth_scheduler_leases',
    'Instances with leased alternates, and those for which others make room.',
    ['kind'],
    (gauge) => {
      const nominations = mirror.nominations().length;
      gauge.set({ kind: 'nomination' }, nominations);
      gauge.set({ kind: 'alternates' }, mirror.leaseCount - nominations);
    },
  );
  metrics.gauge('berth_scheduler_mirror_revision', 'The store revision that this scheduler sees.', [], (gauge) =>
    gauge.set(mirror.revision),
  );
}

function stateOf(host: Host, { untilMs }: Quarantines) {
  if (!host.up) return 'down';
  if (!host.enabled) return 'disabled';
  return untilMs.has(host.name) ? 'quarantined' : 'up';
}

/** Inventories, one for each provider and class, that are above their capacity. */
export function countOverCapacity(view: Pick<PlacementView, 'providers' | 'usage'>): number {
  let count = 0;
  for (const { uuid, inventories } of view.providers()) {
    const used = view.usage(uuid);
    for (const resourceClass in used) {
      const inventory = inventories[resourceClass];
      if (!inventory || (used[resourceClass] ?? 0) > capacityOf(inventory)) count += 1;
    }
  }
  return count;
}
