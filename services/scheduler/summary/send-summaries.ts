import type { Bus, Subscription } from '#libs/bus/port';
import { cellSummaryEventCodec, LISTENING_MS } from '#libs/contracts/cell-methods';
import { CELL_SUMMARY_TOPIC } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { CellSummaries } from './cell-summaries';

interface SenderDeps extends Pick<RuntimeDeps, 'clock' | 'random' | 'log'> {
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>;
  readonly summaries: Pick<CellSummaries, 'newest'>;
  readonly config: { readonly summaryIntervalMs: number };
}

/** Without a word for so many intervals, whoever sends them is gone. */
const PATIENCE = 3;

/**
 * Publishes summaries of the cell for the top, from when it says that it listens until it has not said so for a while: one in an
 * interval at most, and a few bytes instead where it has not changed. Each scheduler that was asked hears the others' and is silent when
 * somebody else was faster, so that their number changes nothing. A cell without a top sends nothing, and makes none.
 *
 * @returns what is called when the top says that it listens
 */
export function summarySender(
  { bus, summaries, config, clock, random, log }: SenderDeps,
  signal: AbortSignal,
): () => void {
  const { summaryIntervalMs: intervalMs } = config;
  let untilMs = 0;
  let isSending = false;
  let saidAtMs = 0;
  let saidDigest = 0;

  const hear = () =>
    bus.subscribe(CELL_SUMMARY_TOPIC, (_topic, { body }) => {
      saidAtMs = clock.elapsed();
      saidDigest = cellSummaryEventCodec.decode(body).digest;
    });
  const say = async () => {
    const summary = summaries.newest();
    const { digest } = summary;
    const event = { digest, nextWithinMs: intervalMs * PATIENCE, summary: digest === saidDigest ? undefined : summary };
    const message = { type: cellSummaryEventCodec.type, body: cellSummaryEventCodec.encode(event) };
    await bus.publish(CELL_SUMMARY_TOPIC, message);
    saidAtMs = clock.elapsed();
    saidDigest = digest;
  };
  const send = async () => {
    let hearing: Subscription | undefined;
    while (!signal.aborted && clock.elapsed() < untilMs) {
      try {
        hearing ??= await hear();
        await sleep(clock, intervalMs * (1 + random.next() / 4), signal);
        const isDue = clock.elapsed() - saidAtMs >= intervalMs;
        if (isDue && !signal.aborted) await say();
      } catch (err) {
        log.debug({ event: 'summary_not_sent', err }, 'cell summary not sent, retrying');
        await sleep(clock, intervalMs, signal);
      }
    }
    isSending = false;
    await hearing?.cancel().catch(() => {});
  };
  return () => {
    untilMs = clock.elapsed() + LISTENING_MS;
    if (isSending) return;
    isSending = true;
    void send();
  };
}
