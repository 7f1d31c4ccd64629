import type { Bus } from '../bus/port';
import { type InstanceEvent, instanceEventCodec } from '../contracts/instance';
import { instanceTopic } from '../contracts/queues';
import { BerthError } from '../domain/errors';
import type { InstanceState } from '../domain/instance';
import { NewerEvents } from './newer-events';

/** Selects events; omitted fields match all. */
export interface EventFilter {
  readonly state?: InstanceState | undefined;
  readonly projectId?: string | undefined;
  readonly instanceUuid?: string | undefined;
  /** Called once the stream listens. */
  readonly onListening?: () => void;
  /** Encoded bytes of the events that may wait for the reader; not bounded unless given. */
  readonly maxWaitingBytes?: number;
}

/** Limit of the events that wait for the reader. */
const MAX_WAITING = 100_000;

/**
 * The matching events, each version of an instance once and in order, from now on until the signal aborts. Events
 * published while the connection is down are missed; read the state again where that matters.
 *
 * @throws BerthError `resource_exhausted / listener_too_slow` when 100,000 events, or so many bytes, wait to be read.
 */
export async function* listen(bus: Bus, filter: EventFilter, signal: AbortSignal): AsyncGenerator<InstanceEvent, void> {
  const { state = '*', projectId = '*', instanceUuid = '*', onListening, maxWaitingBytes = Infinity } = filter;
  const newer = new NewerEvents();
  let waiting: InstanceEvent[] = [];
  let waitingBytes = 0;
  const isFull = () => waiting.length > MAX_WAITING || waitingBytes > maxWaitingBytes;
  let wake = () => {};
  const heard = await bus.subscribe(instanceTopic(state, projectId, instanceUuid), (_topic, message) => {
    if (message.type !== instanceEventCodec.type) return;
    wake();
    if (isFull()) return;
    const event = instanceEventCodec.decode(message.body);
    if (!newer.isNews(event)) return;
    waiting.push(event);
    waitingBytes += message.body.length;
  });
  const stop = () => wake();
  signal.addEventListener('abort', stop, { once: true });
  try {
    onListening?.();
    while (!signal.aborted) {
      const events = waiting;
      if (isFull()) throw tooSlow(events.length);
      waiting = [];
      waitingBytes = 0;
      for (const event of events) {
        yield event;
        if (signal.aborted) return;
      }
      if (waiting.length > 0) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal.aborted) resolve();
      });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await heard.cancel();
  }
}

function tooSlow(count: number): BerthError {
  const message = `${count} events wait to be read; listen to fewer, or read faster`;
  return new BerthError('resource_exhausted', 'listener_too_slow', message);
}
