import type { Clock } from '#libs/domain/clock';
import { formatNumber, showSeconds } from './format';
import { progressBar } from './table';
import type { Terminal } from './terminal';

/** On a terminal the line is redrawn; elsewhere a new line is printed now and then. */
const REDRAW_MS = 100;
const NOTE_MS = 5_000;

export interface Progress {
  /** `done` is the total so far; `detail` is called only when the line is shown, at its end. */
  show(done: number, detail: () => string): void;
  /** Shows the final state. */
  finish(detail: string): void;
}

/** Shows progress, rate and remaining time of work of known size. */
export function startProgress(terminal: Terminal, clock: Clock, what: string, total: number): Progress {
  const startedMs = clock.elapsed();
  const intervalMs = terminal.isInteractive ? REDRAW_MS : NOTE_MS;
  let shownMs = startedMs;
  let latest = 0;
  const line = (done: number, detail: string) => {
    const seconds = Math.max(0.001, (clock.elapsed() - startedMs) / 1000);
    const rate = done / seconds;
    const eta = done < total && total - done > rate ? `, ${showSeconds((total - done) / rate)} left` : '';
    const count = `${formatNumber(done)}/${formatNumber(total)}`;
    return `${what} ${progressBar(terminal, done, total)}  ${count}  ${formatNumber(Math.round(rate))}/s${eta}  ${detail}`;
  };
  return {
    show(done, detail) {
      latest = done;
      if (clock.elapsed() - shownMs < intervalMs) return;
      shownMs = clock.elapsed();
      if (terminal.isInteractive) terminal.progress(line(done, detail()));
      else terminal.note(line(done, detail()));
    },
    finish: (detail) => terminal.note(line(latest, detail)),
  };
}
