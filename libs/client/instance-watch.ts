import type { Bus } from '../bus/port';
import { buildRefusedCodec } from '../contracts/conductor';
import { type InstanceEvent, type InstanceView, instanceEventCodec } from '../contracts/instance';
import { instanceTopic, refusalTopic } from '../contracts/queues';
import { type Clock, sleep } from '../domain/clock';
import { BerthError } from '../domain/errors';
import type { InstanceState } from '../domain/instance';
import { NewerEvents } from './newer-events';

/** Instances with a wait longer than this are also polled, in batches of bounded size. */
const POLL_INTERVAL_MS = 3_000;
const POLL_LIMIT = 64;

/** Waits for instances to reach a state. */
export interface InstanceWatch {
  /**
   * Resolves with the first event, from now on, that shows the instance in one of `states`; call it before requesting
   * the build. @throws BerthError `deadline_exceeded / not_settled`; `aborted / interrupted` when the watch closes or
   * the signal aborts; the conductor's error when it refuses the request.
   */
  until(uuid: string, states: readonly InstanceState[], wait?: Wait): Promise<InstanceEvent>;
  close(): Promise<void>;
}

export interface Wait {
  /** Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** The build request: the wait fails when the conductor refuses it. */
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal;
}

interface Waiter {
  readonly uuid: string;
  readonly requestId: string | undefined;
  readonly states: readonly InstanceState[];
  readonly sinceMs: number;
  resolve(event: InstanceEvent): void;
  reject(error: BerthError): void;
}

/**
 * Watches instances by their events, and polls those with long waits, because a disconnected listener misses events.
 */
export async function watchInstances(
  bus: Bus,
  { clock, projectId }: { readonly clock: Clock; readonly projectId?: string | undefined },
  read: (uuid: string) => Promise<readonly InstanceView[]>,
): Promise<InstanceWatch> {
  const waiters = new Waiters();
  const closing = new AbortController();
  const newer = new NewerEvents();
  const deliver = (event: InstanceEvent) => {
    if (newer.isOutdated(event)) return;
    for (const waiter of waiters.of(event.instanceUuid)) if (waiter.states.includes(event.state)) waiter.resolve(event);
  };
  const events = await bus.subscribe(instanceTopic('*', projectId ?? '*', '*'), (_topic, message) => {
    if (message.type === instanceEventCodec.type) deliver(instanceEventCodec.decode(message.body));
  });
  const refusals = await bus.subscribe(refusalTopic(projectId ?? '*'), (_topic, message) => {
    const { requestId, error } = buildRefusedCodec.decode(message.body);
    for (const waiter of waiters.all()) if (waiter.requestId === requestId) waiter.reject(error);
  });
  const reading = readOverdue();

  /** Reads the instances with the longest waits, until closed. */
  async function readOverdue(): Promise<void> {
    while (!closing.signal.aborted) {
      await sleep(clock, POLL_INTERVAL_MS, closing.signal);
      const before = clock.elapsed() - POLL_INTERVAL_MS;
      const overdue = new Set<string>();
      for (const { uuid, sinceMs } of waiters.all())
        if (sinceMs <= before && overdue.size < POLL_LIMIT) overdue.add(uuid);
      // Errors are ignored: the next poll, or an event, will show the state.
      const found = await Promise.all([...overdue].map((uuid) => read(uuid).catch(() => [])));
      for (const instance of found.flat()) deliver(eventOf(instance));
    }
  }

  return {
    until: (uuid, states, { timeoutMs, requestId, signal } = {}) =>
      new Promise((resolve, reject) => {
        const settle = (how: () => void) => {
          waiters.remove(waiter);
          cancelTimer();
          signal?.removeEventListener('abort', interrupt);
          how();
        };
        const waiter: Waiter = {
          uuid,
          requestId,
          states,
          sinceMs: clock.elapsed(),
          resolve: (event) => settle(() => resolve(event)),
          reject: (error) => settle(() => reject(error)),
        };
        const interrupt = () => waiter.reject(interrupted());
        const giveUp = () => waiter.reject(notSettled(uuid, timeoutMs ?? 0));
        const cancelTimer = timeoutMs === undefined ? () => {} : clock.after(timeoutMs, giveUp);
        waiters.add(waiter);
        if (signal?.aborted) interrupt();
        else signal?.addEventListener('abort', interrupt, { once: true });
      }),
    async close() {
      closing.abort();
      await Promise.all([events.cancel(), refusals.cancel(), reading]);
      for (const waiter of waiters.all()) waiter.reject(interrupted());
    },
  };
}

/** Waits by instance, in order of arrival. */
class Waiters {
  readonly #all = new Set<Waiter>();
  readonly #byUuid = new Map<string, Set<Waiter>>();

  all(): readonly Waiter[] {
    return [...this.#all];
  }

  of(uuid: string): readonly Waiter[] {
    return [...(this.#byUuid.get(uuid) ?? [])];
  }

  add(waiter: Waiter): void {
    this.#all.add(waiter);
    const others = this.#byUuid.get(waiter.uuid) ?? new Set();
    this.#byUuid.set(waiter.uuid, others.add(waiter));
  }

  remove(waiter: Waiter): void {
    this.#all.delete(waiter);
    const others = this.#byUuid.get(waiter.uuid);
    others?.delete(waiter);
    if (others?.size === 0) this.#byUuid.delete(waiter.uuid);
  }
}

/** An instance's present state in the form of its event. */
export function eventOf({ uuid, updatedAtMs, ...rest }: InstanceView): InstanceEvent {
  return { ...rest, instanceUuid: uuid, atMs: updatedAtMs };
}

function interrupted(): BerthError {
  return new BerthError('aborted', 'interrupted', 'no longer waits for instances');
}

function notSettled(uuid: string, timeoutMs: number): BerthError {
  const message = `instance ${uuid} did not come to rest within ${timeoutMs / 1000} s`;
  return new BerthError('deadline_exceeded', 'not_settled', message, {
    details: { hint: `it is still under way; 'berth instance show ${uuid}' shows its state` },
  });
}
