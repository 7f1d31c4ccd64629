import type { Metrics } from '#libs/runtime/metrics';

export type ApiMetrics = ReturnType<typeof apiMetrics>;

/** The API's metrics. The label `path` is a path of the route table, so that the number of series is bounded. */
export function apiMetrics(metrics: Metrics) {
  return {
    requests: metrics.counter('berth_placement_requests_total', 'Requests answered, by status.', [
      'method',
      'path',
      'status',
    ]),
    requestSeconds: metrics.histogram('berth_placement_request_seconds', 'From a request to its answer.', [
      'method',
      'path',
    ]),
  };
}
