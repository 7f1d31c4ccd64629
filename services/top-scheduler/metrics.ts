import type { Metrics } from '#libs/runtime/metrics';
import type { KnownCell } from './known-cell';

/** A top scheduler's metrics. */
export function topSchedulerMetrics(metrics: Metrics, cells: ReadonlyMap<string, KnownCell>) {
  const help = 'Each cell in the state in which this top scheduler sees it: 1.';
  metrics.gauge('berth_top_cells', help, ['of_cell', 'state'], (gauge) => {
    gauge.reset();
    for (const { name, unreachable, state } of cells.values())
      gauge.set({ of_cell: name, state: unreachable === '' ? state : 'unreachable' }, 1);
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
