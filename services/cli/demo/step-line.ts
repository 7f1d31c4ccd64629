import type { Terminal } from '../views/terminal';

/** Shows a step, with its progress where that can be redrawn. */
export type ShowStep = (step: string, progress?: string) => void;

/** The steps of a start: one line that updates; where it can't be redrawn, a line per step. The last one is removed. */
export async function withStepLine<T>(terminal: Terminal, work: (show: ShowStep) => Promise<T>): Promise<T> {
  const { errors, isInteractive } = terminal;
  let latest = '';
  const show: ShowStep = (step, progress) => {
    if (isInteractive) errors.write(`\r\x1b[2K${progress === undefined ? step : `${step}: ${progress}`}`);
    else if (step !== latest) terminal.note(step);
    latest = step;
  };
  try {
    return await work(show);
  } finally {
    if (isInteractive && latest !== '') errors.write('\r\x1b[2K');
  }
}
