import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environment } from '../../runtime/system';
import { findBinary } from './find-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A private Prometheus: `http://127.0.0.1:<port>`. */
export interface PrometheusServer extends TestServer {
  /** Replaces the scraped targets: `host:port`, by job. */
  scrape(targets: Readonly<Record<string, readonly string[]>>): void;
  /** The names of the firing alerts. */
  firing(): Promise<string[]>;
  /** The present number of series of a query; @throws Error with Prometheus' message for a wrong query. */
  query(expression: string): Promise<number>;
}

export interface PrometheusOptions {
  /** Alert rules, as YAML. */
  readonly rules: string;
  /** Interval of scrapes and rule evaluations. */
  readonly intervalMs: number;
  /** The jobs, with their metrics' paths. */
  readonly jobs: Readonly<
    Record<string, { readonly path: string; readonly params?: Readonly<Record<string, string>> }>
  >;
}

/**
 * Starts a private Prometheus (2.40 or later). A removed target is gone at once, like a name that leaves DNS.
 *
 * @throws BerthError of `findBinary` and `startServer`.
 */
export async function startPrometheus({ rules, intervalMs, jobs }: PrometheusOptions): Promise<PrometheusServer> {
  const command = findBinary({ name: 'prometheus', folders: ['/usr/bin'], debianPackage: 'prometheus' });
  const port = await freePort();
  const folder = serverFolder('prometheus');
  const interval = `${intervalMs}ms`;
  // JSON is valid YAML.
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: [join(folder, 'rules.yml')],
    scrape_configs: Object.entries(jobs).map(([job, { path, params = {} }]) => ({
      job_name: job,
      metrics_path: path,
      params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, [value]])),
      file_sd_configs: [{ files: [join(folder, `${job}.json`)], refresh_interval: '1s' }],
    })),
  };
  const scrape = (targets: Readonly<Record<string, readonly string[]>>) => {
    for (const job of Object.keys(jobs))
      writeFileSync(join(folder, `${job}.json`), JSON.stringify([{ targets: targets[job] ?? [] }]));
  };
  scrape({});
  writeFileSync(join(folder, 'rules.yml'), rules);
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const url = `http://127.0.0.1:${port}`;
  const args = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const probe = { send: 'GET /-/ready HTTP/1.0\r\n\r\n', expect: 'HTTP/1.0 200' };
  const server = await startServer({ name: 'Prometheus', url, port, folder, command, args, env: environment(), probe });
  return Object.assign(server, {
    scrape,
    async query(expression: string) {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data, error } = (await answer.json()) as Answer;
      if (data === undefined) throw new Error(`${expression}: ${error}`);
      return data.result.length;
    },
    async firing() {
      const answer = await fetch(`${url}/api/v1/alerts`);
      const { data } = (await answer.json()) as Alerts;
      return data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    },
  });
}

/** An answer of Prometheus' alerts API. */
interface Alerts {
  readonly data: {
    readonly alerts: readonly { readonly labels: { readonly alertname: string }; readonly state: string }[];
  };
}

/** An answer of Prometheus' query API. */
interface Answer {
  readonly data?: { readonly result: readonly unknown[] };
  readonly error?: string;
}
