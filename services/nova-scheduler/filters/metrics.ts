import type { HostFilter } from './filter';

/** The host tells each metric that MetricsWeigher weighs by. */
export const metricsFilter: HostFilter = {
  name: 'MetricsFilter',
  runsOnRebuild: false,
  prepare({ settings: { metricRatios } }) {
    if (metricRatios.size === 0) return undefined;
    const wanted = [...metricRatios.keys()];
    return ({ hardware }) => {
      if (hardware === undefined) return "its metrics are not known from Nova's database";
      const missing = wanted.find((name) => !hardware.metrics.has(name));
      return missing && `it does not tell the metric ${missing}`;
    };
  },
};
