import type { Client } from '#libs/client/client';
import { drainHost } from '#libs/client/drain/drain-host';
import { drainHosts } from '#libs/client/drain/drain-hosts';
import type { InstanceView } from '#libs/contracts/instance';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import { mapConcurrently } from '#libs/runtime/concurrent';
import type { Evacuation, Operation, Refused } from './operation';

/** The operator who performs it, with a client, as on a live fleet. */
export interface Performer {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onRefused: (refused: Omit<Refused, 'resources'>) => void;
  /** Switches a host off, for good. */
  readonly switchOff: (host: string) => void;
}

/** Does an operation by the calls of the commands of the same name; resolves when they would end. */
export async function perform(performer: Performer, operation: Operation): Promise<void> {
  switch (operation.kind) {
    case 'drain':
      await drain(performer, operation);
      return;
    case 'lose':
      return operation.evacuation && evacuate(performer, operation.hosts, operation.evacuation);
    case 'disable':
      await Promise.all(operation.hosts.map((host) => performer.client.setHostEnabled(host, false, 'rehearsed')));
      return;
    case 'delete':
      return remove(performer, operation);
    case 'traffic':
      return;
    case 'build':
      return build(performer, operation);
  }
}

/** Hosts that are dead from the beginning. */
export function silencedBy(operation: Operation): readonly string[] {
  return operation.kind === 'lose' ? operation.hosts : [];
}

/** Hosts whose agents run from the beginning, and fall silent when they end. */
export function heardIn(operation: Operation): readonly string[] {
  return operation.kind === 'drain' || operation.kind === 'delete' ? operation.hosts : [];
}

/** Resolves to the hosts that are then empty. */
async function drain(
  performer: Performer,
  operation: Extract<Operation, { kind: 'drain' | 'delete' }>,
): Promise<readonly string[]> {
  const { client, clock, signal, onRefused } = performer;
  const { hosts, parallel, timeoutMs } = operation;
  const reason = 'drained';
  const options = { reason, parallel, timeoutMs };
  const drainOne = (host: string) => drainHost({ client, clock, signal, onProgress() {} }, { host, ...options });
  const empty: string[] = [];
  for await (const { host, drained } of drainHosts(client, { hosts, reason, signal }, drainOne)) {
    const staying = drained.filter(({ stays }) => stays !== undefined);
    for (const { uuid, name, stays = '' } of staying) onRefused({ uuid, name, why: stays });
    if (staying.length === 0) empty.push(host);
  }
  return empty;
}

async function remove(performer: Performer, operation: Extract<Operation, { kind: 'delete' }>): Promise<void> {
  const { client, clock, signal, switchOff } = performer;
  const empty = await drain(performer, operation);
  for (const host of empty) switchOff(host);
  const untilMs = clock.elapsed() + operation.timeoutMs;
  await Promise.all(
    empty.map(async (host) => {
      for (;;) {
        const refusal = await client.deleteHost(host).then(
          () => undefined,
          (thrown: unknown) => BerthError.from(thrown),
        );
        if (refusal === undefined || signal.aborted) return;
        if (clock.elapsed() > untilMs) throw refusal;
        await sleep(clock, POLL_MS, signal);
      }
    }),
  );
}

async function build(
  { client, onRefused }: Performer,
  { request, timeoutMs }: Extract<Operation, { kind: 'build' }>,
): Promise<void> {
  try {
    for (const { instanceUuid: uuid, name, fault } of await client.buildAndWait(request, { timeoutMs })) {
      if (fault !== undefined) onRefused({ uuid, name, why: `${fault.reason}: ${fault.message}` });
    }
  } catch (thrown) {
    // Instances that wait for capacity are counted at the end.
    const { reason, message } = BerthError.from(thrown);
    if (reason !== 'not_settled') onRefused({ uuid: '', name: request.name ?? '', why: `${reason}: ${message}` });
  }
}

const POLL_MS = 1_000;
/** The instance is on its way. */
const MOVING: readonly InstanceState[] = ['rebuilding', 'building', 'scheduling', 'pending'];
const ENDED: readonly InstanceState[] = ['error', 'deleted', 'shelved_offloaded'];

/** `berth instance evacuate` of all that is on dead hosts, as soon as they are down. */
async function evacuate(performer: Performer, hosts: readonly string[], evacuation: Evacuation): Promise<void> {
  const { client, signal } = performer;
  const there = (await Promise.all(hosts.map((host) => client.instances({ host })))).flat();
  await mapConcurrently(there, evacuation.parallel, (one) => evacuateOne(performer, hosts, one, evacuation), signal);
}

async function evacuateOne(
  { client, clock, signal, onRefused }: Performer,
  dead: readonly string[],
  { uuid, name }: InstanceView,
  { timeoutMs }: Evacuation,
): Promise<void> {
  const untilMs = clock.elapsed() + timeoutMs;
  let why = 'its host is not down yet';
  let wasAsked = false;
  while (clock.elapsed() < untilMs && !signal.aborted) {
    const { state, host, fault } = await client.instance(uuid);
    const isMoving = MOVING.includes(state);
    if (ENDED.includes(state) || (!dead.includes(host) && !isMoving)) return;
    if (!isMoving && wasAsked && fault !== undefined)
      return onRefused({ uuid, name, why: `${fault.reason}: ${fault.message}` });
    if (!isMoving) {
      try {
        await client.operate(uuid, 'evacuate');
        wasAsked = true;
      } catch (thrown) {
        const { reason, message } = BerthError.from(thrown);
        why = `${reason}: ${message}`;
      }
    }
    await sleep(clock, POLL_MS, signal);
  }
  onRefused({ uuid, name, why: `it has not left in ${timeoutMs / 1_000} s: ${why}` });
}
