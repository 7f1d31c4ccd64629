import { buildRefusedCodec } from '#libs/contracts/conductor';
import { instanceEventCodec } from '#libs/contracts/instance';
import type { InstanceEvent, InstanceView } from '#libs/contracts/messages';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import type { Client } from './client';

/** Instances that are waited for longer than this are also asked for, so many at a time. */
const LOOK_INTERVAL_MS = 3_000;
const LOOK_LIMIT = 64;

/** Tells who waits for an instance when it gets where it was to go. */
export interface InstanceWatch {
  /**
   * Resolves with the first event, from now on, that finds the instance in one of `states`; register it before asking
   * for the build. @throws BerthError `deadline_exceeded / not_settled`; `aborted / interrupted` when the watch closes;
   * the conductor's error when it refuses the request.
   */
  until(uuid: string, states: readonly InstanceState[], wait?: Wait): Promise<InstanceEvent>;
  close(): Promise<void>;
}

export interface Wait {
  /** For ever when not given. */
  readonly timeoutMs?: number;
  /** The build request: when it is refused, there will be no instance. */
  readonly requestId?: string;
}

interface Waiter {
  readonly requestId: string | undefined;
  readonly states: readonly InstanceState[];
  readonly sinceMs: number;
  resolve(event: InstanceEvent): void;
  reject(error: BerthError): void;
}

/** Watches all instances by their events; by asking, too, because an event is missed while the broker is away. */
export async function watchInstances(client: Client): Promise<InstanceWatch> {
  const waiters = new Map<string, Waiter>();
  const closing = new AbortController();
  const hear = (event: InstanceEvent) => {
    const waiter = waiters.get(event.instanceUuid);
    if (waiter?.states.includes(event.state)) waiter.resolve(event);
  };
  const events = await client.bus.subscribe('instance.#', (_topic, message) => {
    if (message.type === instanceEventCodec.type) hear(instanceEventCodec.decode(message.body));
  });
  const refusals = await client.bus.subscribe('request.refused', (_topic, message) => {
    const { requestId, error } = buildRefusedCodec.decode(message.body);
    for (const waiter of waiters.values()) if (waiter.requestId === requestId) waiter.reject(error);
  });
  const looking = lookForMissed(client, waiters, hear, closing.signal);
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
          sinceMs: client.clock.now(),
          resolve: (event) => settle(() => resolve(event)),
          reject: (error) => settle(() => reject(error)),
        });
      }),
    async close() {
      closing.abort();
      await Promise.all([events.cancel(), refusals.cancel(), looking]);
      for (const waiter of waiters.values()) {
        waiter.reject(new BerthError('aborted', 'interrupted', 'no longer waits for instances'));
      }
    },
  };
}

/** Asks for the instances that were waited for longest, again and again, until closed. */
async function lookForMissed(
  client: Client,
  waiters: ReadonlyMap<string, Waiter>,
  hear: (event: InstanceEvent) => void,
  closing: AbortSignal,
): Promise<void> {
  while (!closing.aborted) {
    await sleep(client.clock, LOOK_INTERVAL_MS, closing);
    const before = client.clock.now() - LOOK_INTERVAL_MS;
    const overdue = [...waiters].filter(([, waiter]) => waiter.sinceMs <= before).slice(0, LOOK_LIMIT);
    const found = await Promise.all(overdue.map(([uuid]) => lookUp(client, uuid)));
    for (const instance of found.flat()) hear(eventOf(instance));
  }
}

/** Nobody may be there to answer just now: then the next look, or an event, will tell. */
async function lookUp(client: Client, instanceUuid: string): Promise<InstanceView[]> {
  return client.instances({ instanceUuid }, 1).catch(() => []);
}

function eventOf({ uuid, updatedAtMs, ...rest }: InstanceView): InstanceEvent {
  return { ...rest, instanceUuid: uuid, atMs: updatedAtMs };
}

function notSettled(uuid: string, timeoutMs: number): BerthError {
  const message = `instance ${uuid} did not come to rest within ${timeoutMs / 1000} s`;
  return new BerthError('deadline_exceeded', 'not_settled', message, {
    details: { hint: `it goes on without us; 'berth instance show ${uuid}' tells how it stands` },
  });
}
