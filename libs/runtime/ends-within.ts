import type { Clock } from '../domain/clock';

/** True when `work` settles within the time, fulfilled or rejected. */
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
