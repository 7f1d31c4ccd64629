import { AGE_BUCKETS_S, type Metrics } from '#libs/runtime/metrics';
import { FINDINGS } from './step';

export type ConductorMetrics = ReturnType<typeof conductorMetrics>;

/** Metrics of a conductor. */
export function conductorMetrics(metrics: Metrics) {
  const mended = metrics.counter('berth_audit_mended_total', 'What the audit and the discrepancies mended.', [
    'finding',
  ]);
  // Prometheus takes what a series begins with for no increase: the first repair would be told to nobody.
  for (const finding of FINDINGS) mended.inc({ finding }, 0);
  return {
    states: metrics.counter('berth_instance_states_total', 'Instances that reached a state.', ['state']),
    attempts: metrics.counter('berth_build_attempts_total', 'Attempts to build on a host, by how they ended.', [
      'outcome',
    ]),
    moves: metrics.counter('berth_moves_total', 'Resizes and migrations, by kind and how they ended.', [
      'kind',
      'outcome',
    ]),
    activeAfter: metrics.histogram('berth_build_duration_seconds', 'From the accepted request to ACTIVE.'),
    refused: metrics.counter('berth_requests_refused_total', 'Requests refused, by reason.', ['reason']),
    waits: metrics.counter('berth_conductor_waits_total', 'Steps put off because something was away, by reason.', [
      'reason',
    ]),
    stale: metrics.counter('berth_stale_reports_total', 'Reports of attempts that are over.'),
    overdue: metrics.histogram(
      'berth_overdue_seconds',
      'Instances that a sweep could not go on with, by how long each has been overdue.',
      [],
      AGE_BUCKETS_S,
    ),
    mended,
    doubts: metrics.counter('berth_doubts_total', 'Instances found in doubt, each time they were: kept as they are.', [
      'finding',
    ]),
    doubtsDropped: metrics.counter(
      'berth_doubts_dropped_total',
      'Doubts that were not kept: too many of a host or a kind.',
      ['finding'],
    ),
    outboxInstances: metrics.gauge('berth_outbox_instances', 'Instances with events that are not published.'),
    outboxAge: metrics.gauge('berth_outbox_age_seconds', 'How long the oldest of them has waited.'),
    takenOver: metrics.counter('berth_events_taken_over_total', 'Instances whose events another conductor left.'),
    pending: metrics.gauge(
      'berth_pending_instances',
      'Instances that wait for capacity, at the conductor that has the queue.',
    ),
    pendingAge: metrics.gauge('berth_pending_age_seconds', 'How long the oldest of them has waited.'),
    wanted: metrics.gauge(
      'berth_capacity_wanted_hosts',
      'Hosts that would serve what waits for capacity, by a host of their shape; at one of the conductors.',
      ['like'],
    ),
    pendingTries: metrics.counter('berth_pending_tries_total', 'Requests that waited and were tried.'),
    rebuilds: metrics.counter('berth_rebuilds_total', 'Instances of dead hosts that were evacuated by themselves.'),
    audits: metrics.counter('berth_audits_total', 'Audit passes that this conductor ran.'),
  };
}
