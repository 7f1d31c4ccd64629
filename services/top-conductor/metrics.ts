import type { Metrics } from '#libs/runtime/metrics';

export type TopConductorMetrics = ReturnType<typeof topConductorMetrics>;

/** A top conductor's metrics. */
export function topConductorMetrics(metrics: Metrics) {
  return {
    requests: metrics.counter('berth_top_requests_total', 'Build requests that the top took, by what came of them.', [
      'outcome',
    ]),
    handedOver: metrics.counter('berth_top_handed_over_total', 'Instances that were given to a cell.', ['to_cell']),
    mirrored: metrics.counter(
      'berth_top_states_total',
      'States of instances that cells told, by how the top learned them.',
      ['by'],
    ),
  };
}
