import type { Clock } from '#libs/domain/clock';
import { showSeconds } from './age';
import { formatNumber, progressBar, type Terminal } from './terminal';

/** On a terminal a line that changes; elsewhere a line now and then, so that a log shows that it goes on. */
const REDRAW_MS = 100;
const NOTE_MS = 5_000;

export interface Progress {
  /** `done` in all so far; `detail` stands at the end of the line, asked for only when it is shown. */
  show(done: number, detail: () => string): void;
  /** Shows the last state, whenever it was shown before. */
  finish(detail: string): void;
}

/** Shows how far a piece of work of known size is, how fast it goes and when it will be done. */
export function startProgress(terminal: Terminal, clock: Clock, what: string, total: number): Progress {
  const startedMs = clock.now();
  const intervalMs = terminal.isInteractive ? REDRAW_MS : NOTE_MS;
  let shownMs = startedMs;
  let latest = 0;
  const line = (done: number, detail: string) => {
    const seconds = Math.max(0.001, (clock.now() - startedMs) / 1000);
    const rate = done / seconds;
    const eta = done < total && total - done > rate ? `, ${showSeconds((total - done) / rate)} left` : '';
    const count = `${formatNumber(done)}/${formatNumber(total)}`;
    return `${what} ${progressBar(terminal, done, total)}  ${count}  ${formatNumber(Math.round(rate))}/s${eta}  ${detail}`;
  };
  return {
    show(done, detail) {
      latest = done;
      if (clock.now() - shownMs < intervalMs) return;
      shownMs = clock.now();
      if (terminal.isInteractive) terminal.progress(line(done, detail()));
      else terminal.note(line(done, detail()));
    },
    finish: (detail) => terminal.note(line(latest, detail)),
  };
}
