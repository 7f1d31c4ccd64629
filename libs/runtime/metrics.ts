import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one process (or of one service embedded in a process). Names start with `berth_` and end with a unit. */
export interface Metrics {
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  gauge<L extends string = never>(
    name: string,
    help: string,
    labels?: readonly L[],
    collect?: (gauge: Gauge<L>) => void,
  ): Gauge<L>;
  /** Buckets in seconds by default. */
  histogram<L extends string = never>(
    name: string,
    help: string,
    labels?: readonly L[],
    buckets?: readonly number[],
  ): Histogram<L>;
  /** In Prometheus' text format. */
  expose(): Promise<string>;
}

/** For the age of something that is retried. Alerts fire beyond an hour. */
export const AGE_BUCKETS_S = [0, 60, 600, 3_600, 21_600, 86_400];

const LATENCY_BUCKETS_S = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createMetrics(labels: Readonly<Record<string, string>>, withProcess = false): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  if (withProcess) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, labelNames = [], collect = () => {}) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect() {
          collect(this);
        },
      }),
    histogram: (name, help, labelNames = [], buckets = LATENCY_BUCKETS_S) =>
      new Histogram({ name, help, labelNames, buckets: [...buckets], registers }),
    expose: () => registry.metrics(),
  };
}
