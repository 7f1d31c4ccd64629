import { buildRefusedCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { InstanceEvent, InstanceView } from '#libs/contracts/messages';
import { instanceTopic, refusalTopic } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import type { Client } from './client';
import { NewerEvents } from './newer-events';

/** An instance that is waited for longer than this is also polled, with at most so many others. */
const POLL_INTERVAL_MS = 3_000;
const POLL_LIMIT = 64;

/** Waits for instances to reach a state. */
export interface InstanceWatch {
  /**
   * Resolves with the first event, from now on, that shows the instance in one of `states`: call it before requesting
   * the build. @throws BerthError `deadline_exceeded / not_settled`; `aborted / interrupted` when the watch closes;
   * the conductor's error when it refuses the request.
   */
  until(uuid: string, states: readonly InstanceState[], wait?: Wait): Promise<InstanceEvent>;
  close(): Promise<void>;
}

export interface Wait {
  /** No limit when not given. */
  readonly timeoutMs?: number;
  /** The build request: the wait fails when the conductor refuses it. */
  readonly requestId?: string;
}

interface Waiter {
  readonly requestId: string | undefined;
  readonly states: readonly InstanceState[];
  readonly sinceMs: number;
  resolve(event: InstanceEvent): void;
  reject(error: BerthError): void;
}

/**
 * Watches all instances by their events, and by polling, because this listener misses what is published while it is not
 * connected.
 */
export async function watchInstances(client: Client): Promise<InstanceWatch> {
  const waiters = new Map<string, Waiter>();
  const closing = new AbortController();
  const newer = new NewerEvents();
  const deliver = (event: InstanceEvent) => {
    if (newer.isOutdated(event)) return;
    const waiter = waiters.get(event.instanceUuid);
    if (waiter?.states.includes(event.state)) waiter.resolve(event);
  };
  const events = await client.bus.subscribe(instanceTopic('*', client.project ?? '*', '*'), (_topic, message) => {
    if (message.type === instanceEventCodec.type) deliver(instanceEventCodec.decode(message.body));
  });
  const refusals = await client.bus.subscribe(refusalTopic(client.project ?? '*'), (_topic, message) => {
    const { requestId, error } = buildRefusedCodec.decode(message.body);
    for (const waiter of waiters.values()) if (waiter.requestId === requestId) waiter.reject(error);
  });
  const polling = pollOverdue(client, waiters, deliver, closing.signal);
  return {
    until: (uuid, states, { timeoutMs, requestId } = {}) =>
      new Promise((resolve, reject) => {
        const giveUp = () => waiters.get(uuid)?.reject(notSettled(uuid, timeoutMs ?? 0));
        const cancelTimer = timeoutMs === undefined ? () => {} : client.clock.after(timeoutMs, giveUp);
        const settle = (how: () => void) => {
          waiters.delete(uuid);
          cancelTimer();
          how();
        };
        waiters.set(uuid, {
          requestId,
          states,
          sinceMs: client.clock.elapsed(),
          resolve: (event) => settle(() => resolve(event)),
          reject: (error) => settle(() => reject(error)),
        });
      }),
    async close() {
      closing.abort();
      await Promise.all([events.cancel(), refusals.cancel(), polling]);
      for (const waiter of waiters.values()) {
        waiter.reject(new BerthError('aborted', 'interrupted', 'no longer waits for instances'));
      }
    },
  };
}

/** Polls the instances that are waited for longest, until closed. */
async function pollOverdue(
  client: Client,
  waiters: ReadonlyMap<string, Waiter>,
  deliver: (event: InstanceEvent) => void,
  closing: AbortSignal,
): Promise<void> {
  while (!closing.aborted) {
    await sleep(client.clock, POLL_INTERVAL_MS, closing);
    const before = client.clock.elapsed() - POLL_INTERVAL_MS;
    const overdue = [...waiters].filter(([, waiter]) => waiter.sinceMs <= before).slice(0, POLL_LIMIT);
    // Errors are ignored: the next poll, or an event, will show the state.
    const found = await Promise.all(
      overdue.map(([instanceUuid]) => client.instances({ instanceUuid }, 1).catch((): InstanceView[] => [])),
    );
    for (const instance of found.flat()) deliver(eventOf(instance));
  }
}

function eventOf({ uuid, updatedAtMs, ...rest }: InstanceView): InstanceEvent {
  return { ...rest, instanceUuid: uuid, atMs: updatedAtMs };
}

function notSettled(uuid: string, timeoutMs: number): BerthError {
  const message = `instance ${uuid} did not come to rest within ${timeoutMs / 1000} s`;
  return new BerthError('deadline_exceeded', 'not_settled', message, {
    details: { hint: `it is still under way; 'berth instance show ${uuid}' shows its state` },
  });
}
