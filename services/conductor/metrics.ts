import type { Metrics } from '#libs/runtime/metrics';

export type ConductorMetrics = ReturnType<typeof conductorMetrics>;

/** What a conductor counts. */
export function conductorMetrics(metrics: Metrics) {
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
    mended: metrics.counter('berth_audit_mended_total', 'What the audit and the discrepancies mended.', ['finding']),
    doubts: metrics.counter('berth_doubts_total', 'Instances found in doubt, each time they were: kept as they are.', [
      'finding',
    ]),
    outboxInstances: metrics.gauge('berth_outbox_instances', 'Instances with events that are not published.'),
    outboxAge: metrics.gauge('berth_outbox_age_seconds', 'How long the oldest of them has waited.'),
    takenOver: metrics.counter('berth_events_taken_over_total', 'Instances whose events another conductor left.'),
    rebuilds: metrics.counter('berth_rebuilds_total', 'Instances of dead hosts that were evacuated by themselves.'),
    audits: metrics.counter('berth_audits_total', 'Audit passes that this conductor ran.'),
  };
}
