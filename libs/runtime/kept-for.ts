import type { Clock } from '../domain/clock';

/** One read for all who ask within an age, in milliseconds; one that fails is not kept. */
export function keptFor<T>(ageMs: number, clock: Pick<Clock, 'elapsed'>, read: () => Promise<T>): () => Promise<T> {
  let kept: { readonly atMs: number; readonly value: Promise<T> } | undefined;
  return () => {
    const atMs = clock.elapsed();
    if (kept && atMs - kept.atMs < ageMs) return kept.value;
    const reading = { atMs, value: read() };
    kept = reading;
    reading.value.catch(() => {
      if (kept === reading) kept = undefined;
    });
    return reading.value;
  };
}
