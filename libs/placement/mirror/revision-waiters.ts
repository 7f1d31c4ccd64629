import type { Clock } from '../../domain/clock';
import { BerthError } from '../../domain/errors';

interface Waiter {
  readonly revision: number;
  settle(error?: BerthError): void;
}

/** The reads that wait for the mirror to reach a revision. */
export class RevisionWaiters {
  private readonly waiting = new Set<Waiter>();
  private endIdling: (() => void) | undefined;
  private isClosed = false;

  constructor(private readonly clock: Clock) {}

  /** As `Mirror.waitFor`. */
  waitFor(
    revision: number,
    present: number,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    if (revision <= present) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (error?: BerthError) => {
        this.waiting.delete(waiter);
        cancel();
        signal?.removeEventListener('abort', onAbort);
        if (error) reject(error);
        else resolve();
      };
      const waiter = { revision, settle };
      const onAbort = () => settle(new BerthError('aborted', 'cancelled', 'stopped waiting for the mirror'));
      const cancel = this.clock.after(timeoutMs, () =>
        settle(new BerthError('unavailable', 'mirror_behind', `the mirror is behind revision ${revision}; try again`)),
      );
      this.waiting.add(waiter);
      this.endIdling?.();
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }

  /** Resolves after a time, or as soon as somebody waits; at once after `close`. */
  idle(timeMs: number): Promise<void> {
    if (this.waiting.size > 0 || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.endIdling = undefined;
        resolve();
      };
      const cancel = this.clock.after(timeMs, end);
      this.endIdling = end;
    });
  }

  reached(revision: number): void {
    for (const waiter of this.waiting) if (waiter.revision <= revision) waiter.settle();
  }

  close(): void {
    const error = new BerthError('unavailable', 'closing', 'the mirror is closing');
    for (const waiter of this.waiting) waiter.settle(error);
    this.isClosed = true;
    this.endIdling?.();
  }
}
