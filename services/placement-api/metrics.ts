import type { Metrics } from '#libs/runtime/metrics';

/** The API's metrics. The label `path` is a path of the route table, so that the number of series is bounded. */
export function apiMetrics(metrics: Metrics) {
  const labels = ['method', 'path'] as const;
  return {
    requests: metrics.counter('berth_placement_requests_total', 'Requests answered, by status.', [...labels, 'status']),
    requestSeconds: metrics.histogram('berth_placement_request_seconds', 'From a request to its answer.', labels),
  };
}
