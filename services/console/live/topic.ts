import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { problemOf } from '../http/problem';

/** The receiver of a page's events. */
export interface Sink {
  send(event: string, json: string): void;
  readonly isBehind: boolean;
}

export interface Told {
  readonly event: string;
  /** Reads the state when it is sent. */
  readonly read: () => unknown;
  /** Calls back whenever the state may have changed. Returns the unsubscription. */
  readonly watch: (changed: () => void) => () => void;
  /** Minimum interval. */
  readonly minMs: number;
}

/**
 * Sends a page a state now, and again after changes: at most every `minMs`, and not while the browser is behind. A
 * failed read is sent as a `problem`, and retried.
 */
export function tell(sink: Sink, clock: Clock, { event, read, watch, minMs }: Told): () => void {
  let isStopped = false;
  let isChanged = false;
  let isReading = false;
  let last = '';
  let cancel: (() => void) | undefined;

  const schedule = (delayMs: number) => {
    cancel ??= clock.after(delayMs, () => {
      cancel = undefined;
      void send();
    });
  };
  const send = async () => {
    if (isStopped || isReading) return;
    if (sink.isBehind) return schedule(minMs);
    isReading = true;
    isChanged = false;
    try {
      const json = JSON.stringify(await read());
      if (!isStopped && json !== last) sink.send(event, json);
      last = json;
    } catch (thrown) {
      if (!isStopped) sink.send('problem', JSON.stringify(problemOf(BerthError.from(thrown))));
      last = '';
      isChanged = true;
    } finally {
      isReading = false;
    }
    if (isChanged && !isStopped) schedule(minMs);
  };
  const stopWatching = watch(() => {
    isChanged = true;
    if (!isReading) schedule(minMs);
  });
  void send();
  return () => {
    isStopped = true;
    stopWatching();
    cancel?.();
  };
}
