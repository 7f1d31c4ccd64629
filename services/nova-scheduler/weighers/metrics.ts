import { RemoteError } from '#libs/oslo/remote-error';
import type { HostState } from '../decision/host-state';
import type { Weigher } from './weigher';

/** The sum of a host's metrics, each times its factor. */
export const metricsWeigher: Weigher = {
  name: 'MetricsWeigher',
  multiplier: 'metrics_weight_multiplier',
  option: ['metrics', 'weight_multiplier'],
  prepare({ settings }, multiplierOn) {
    const { metricRatios, metricsRequired, metricsWeightOfUnavailable } = settings;
    if (metricRatios.size === 0) return undefined;
    return (host) => {
      let weight = 0;
      for (const [name, ratio] of metricRatios) {
        const value = host.hardware?.metrics.get(name);
        if (value !== undefined) weight += value * ratio;
        else if (metricsRequired) throw notFound(name, host);
        else if (ratio * multiplierOn(host) !== 0) return metricsWeightOfUnavailable;
      }
      return weight;
    };
  },
};

/** Nova fails such a request: MetricsFilter keeps it from these hosts. */
function notFound(name: string, { node }: HostState): RemoteError {
  const message = `Metric ${name} could not be found on the compute host node ${node.host}.${node.nodename}.`;
  return new RemoteError('ComputeHostMetricNotFound', 'nova.exception', message, { code: 404 });
}
