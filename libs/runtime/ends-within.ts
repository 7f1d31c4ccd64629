import type { Clock } from '../domain/clock';

/** Whether `work` came to its end within the time, well or not. */
export function endsWithin(work: Promise<unknown>, timeoutMs: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(timeoutMs, () => resolve(false));
    const end = () => {
      cancel();
      resolve(true);
    };
    work.then(end, end);
  });
}
