import type { Subscription } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { cellSummaryEventCodec, describeCellMethod } from '#libs/contracts/cell-methods';
import { CELL_SUMMARY_TOPIC, RPC_SCHEDULER } from '#libs/contracts/queues';
import type { CellSummary } from '#libs/domain/cells/cell-summary';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { KnownCell } from './known-cell';
import { type ClassDeps, noteClasses } from './note-classes';
import type { TopSchedulerConfig } from './options';

type HearingDeps = Pick<RuntimeDeps, 'clock' | 'random' | 'log'> &
  ClassDeps & { readonly config: Pick<TopSchedulerConfig, 'summaryIntervalMs' | 'askTimeoutMs'> };

/**
 * Keeps a cell's summary up to date until the signal aborts. Its schedulers send summaries as long as the top renews
 * its interest; without an event, or after an unchanged summary whose content was missed, they are asked. A cell whose
 * schedulers do not send, of an older version, is asked each time.
 */
export async function hearSummaries(cell: KnownCell, deps: HearingDeps, signal: AbortSignal): Promise<void> {
  const { clock, random, log, config } = deps;
  const note = (summary: CellSummary | undefined) => {
    if (summary === undefined) return;
    noteClasses(summary, deps).catch((err: unknown) =>
      log.warn({ event: 'classes_not_noted', err }, 'resource classes of a cell not stored'),
    );
  };
  let hearing: Subscription | undefined;
  while (!signal.aborted) {
    try {
      hearing ??= await cell.link.bus.subscribe(CELL_SUMMARY_TOPIC, (_topic, { body }) => {
        const event = cellSummaryEventCodec.decode(body);
        cell.heardOf(event);
        note(event.summary);
      });
      if (cell.isToBeAsked) {
        const request = { knownDigest: cell.summary?.digest ?? 0, listens: true };
        const options = { timeoutMs: config.askTimeoutMs, signal };
        const { summary } = await callMethod(
          { bus: cell.link.bus, queue: RPC_SCHEDULER },
          describeCellMethod,
          request,
          options,
        );
        cell.heard(summary);
        cell.asked();
        note(summary);
      }
    } catch (thrown) {
      if (!signal.aborted) cell.failed(BerthError.from(thrown));
    }
    // Spread, so that cells do not answer all at once.
    await sleep(clock, config.summaryIntervalMs * (0.75 + random.next() / 2), signal);
  }
  await hearing?.cancel().catch(() => {});
}
