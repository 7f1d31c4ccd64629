import type { Metrics } from '#libs/runtime/metrics';
import type { KnownCell } from './known-cell';

/** What a top scheduler counts. */
export function topSchedulerMetrics(metrics: Metrics, cells: ReadonlyMap<string, KnownCell>) {
  metrics.gauge('berth_top_cells', 'Cells by state, as this top scheduler sees them.', ['state'], (gauge) => {
    const counts = { enabled: 0, disabled: 0, draining: 0, unreachable: 0 };
    for (const cell of cells.values()) counts[cell.unreachable === '' ? cell.state : 'unreachable'] += 1;
    for (const [state, count] of Object.entries(counts)) gauge.set({ state }, count);
  });
  metrics.gauge('berth_top_summary_bytes', 'Size of the newest summaries of all cells together.', [], (gauge) => {
    gauge.set([...cells.values()].reduce((sum, cell) => sum + cell.view().summaryBytes, 0));
  });
  return {
    asked: metrics.counter('berth_top_cells_asked_total', 'Cells that were asked for a request, by what came of it.', [
      'outcome',
    ]),
    selectSeconds: metrics.histogram(
      'berth_top_select_seconds',
      'Time of a decision of the top, the calls to cells included.',
      ['outcome'],
    ),
  };
}
