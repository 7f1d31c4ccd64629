import { formatNumber } from './format';
import type { Terminal } from './terminal';

/** Reports progress; `detail` is called only when the line is shown, at its end. */
export type ShowProgress = (done: number, total: number, detail?: () => string) => void;

/** Interval of new lines where the line can't be redrawn. */
const NOTE_MS = 5_000;

/**
 * Runs work that reports progress, and shows it with its rate and the remaining time, until the work ends in any way.
 */
export async function withProgress<T>(
  { errors, isInteractive, glyphs, colours }: Terminal,
  what: string,
  work: (show: ShowProgress) => Promise<T>,
): Promise<T> {
  // Loaded on demand: few commands show progress.
  const { Format, SingleBar } = (await import('cli-progress')).default;
  const format = `${what} ${colours.cyan('{bar}')} {percentage}%  {value}/{total}  {rate}/s, {eta_formatted} left  {detail}`;
  let latest = () => '';
  const bar = new SingleBar({
    stream: errors,
    barsize: 20,
    barCompleteChar: glyphs.full,
    barIncompleteChar: glyphs.empty,
    etaBuffer: 100,
    noTTYOutput: true,
    notTTYSchedule: NOTE_MS,
    // The library ends each line itself there, and clearing would add an empty one.
    clearOnComplete: !isInteractive,
    formatValue: (value, _, kind) => (kind === 'value' || kind === 'total' ? formatNumber(value) : String(value)),
    format(options, params, payload) {
      const seconds = Math.max(0.001, (Number(params.stopTime ?? new Date()) - params.startTime) / 1_000);
      const rate = formatNumber(Math.round(params.value / seconds));
      return Format.Formatter({ ...options, format }, params, { ...payload, rate, detail: latest() });
    },
  });
  try {
    return await work((done, total, detail) => {
      latest = detail ?? latest;
      if (bar.isActive) bar.update(done);
      else bar.start(total, done);
    });
  } finally {
    bar.stop();
  }
}
