import type { Call } from './calls';
import { code, plain, table } from './markdown';

const KINDS: readonly string[] = ['counter', 'gauge', 'histogram'];

/** Every metric, by the service or library that has it. */
export function metricsPage(calls: readonly Call[]): string {
  const metrics = calls.flatMap(({ path, of, texts: [name, help] }) => {
    return KINDS.includes(of) && name?.startsWith('berth_') ? [{ path, kind: of, name, help: help ?? '' }] : [];
  });
  const byName = [...new Map(metrics.map((one) => [one.name, one])).values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const shown = [...new Set(byName.map(partOf))].sort().map((part) => {
    const own = byName.filter((one) => partOf(one) === part);
    const rows = own.map(({ name, kind, help }) => [code(name), kind, plain(help)]);
    return `## ${part}\n\n${table(['name', 'kind', 'what it says'], rows)}`;
  });
  return `# Metrics

Every process serves them in Prometheus' format at ${code('/metrics')} on ${code('BERTH_HTTP_PORT')}. What the alerts watch, and
what to do then: [deploy/prometheus](../../../../deploy/prometheus/README.md); dashboards: [deploy/grafana](../../../../deploy/grafana/README.md).

${shown.join('\n\n')}
`;
}

/** `services/scheduler` of a file somewhere below it. */
function partOf({ path }: Pick<Call, 'path'>): string {
  return path.split('/', 2).join('/');
}
