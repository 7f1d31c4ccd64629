import type { Client } from '#libs/client/client';
import { drainHost } from '#libs/client/drain/drain-host';
import { drainHosts } from '#libs/client/drain/drain-hosts';
import { carryOut } from '#libs/client/rebalance/carry-out';
import { claimPlan } from '#libs/client/rebalance/claim-plan';
import { findPlan } from '#libs/client/rebalance/find-plan';
import { fleetOf } from '#libs/client/rebalance/plan';
import type { InstanceView } from '#libs/contracts/instance';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceState } from '#libs/domain/instance';
import { mapConcurrently } from '#libs/runtime/concurrent';
import type { Builds, Evacuation, Operation, Refused } from './operation';

/** The operator who performs it, with a client, as on a live fleet. */
export interface Performer {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onRefused: (refused: Omit<Refused, 'resources'>) => void;
  /** Switches a host off, for good. */
  readonly switchOff: (host: string) => void;
  /** Stops a host's agent for a time. */
  readonly stop: (host: string, forMs: number) => void;
  /** Takes a server away for a time. */
  readonly breakServer: (of: 'broker' | 'store', forMs: number) => void;
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
    case 'upgrade':
      for (const host of operation.hosts) await upgrade(performer, host, operation);
      return;
    case 'rebalance':
      return rebalance(performer, operation);
    case 'quota':
      await performer.client.setQuota(operation.projectId, operation.change);
      return;
    case 'flavor':
      await performer.client.updateFlavor(operation.name, {
        ...operation.change,
        unsetExtraSpecs: [...operation.change.unsetExtraSpecs],
      });
      return operation.build && build(performer, operation.build);
    case 'outage':
      performer.breakServer(operation.of, operation.forMs);
      return sleep(performer.clock, operation.forMs, performer.signal);
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
  return operation.kind === 'drain' || operation.kind === 'delete' || operation.kind === 'upgrade'
    ? operation.hosts
    : [];
}

/** Resolves to the hosts that are then empty. */
async function drain(
  performer: Performer,
  { hosts, parallel, timeoutMs }: Pick<Extract<Operation, { kind: 'drain' }>, 'hosts' | 'parallel' | 'timeoutMs'>,
): Promise<readonly string[]> {
  const { client, clock, signal, onRefused } = performer;
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

async function upgrade(
  performer: Performer,
  host: string,
  { parallel, timeoutMs, stoppedMs }: Extract<Operation, { kind: 'upgrade' }>,
): Promise<void> {
  const { client, clock, signal, stop } = performer;
  const [empty] = await drain(performer, { hosts: [host], parallel, timeoutMs });
  if (empty !== undefined) {
    stop(host, stoppedMs);
    await sleep(clock, stoppedMs, signal);
    const untilMs = clock.elapsed() + timeoutMs;
    const isUp = async () => (await client.hosts(host))[0]?.up === true;
    while (!signal.aborted && clock.elapsed() < untilMs && !(await isUp())) await sleep(clock, POLL_MS, signal);
  }
  await client.setHostEnabled(host, true, '');
}

async function rebalance(
  { client, clock, signal, onRefused }: Performer,
  { goal, ...how }: Extract<Operation, { kind: 'rebalance' }>,
): Promise<void> {
  const operation = 'live_migrate';
  const [hosts, instances] = await Promise.all([client.hosts(), client.instances()]);
  const plan = await findPlan(client, operation, fleetOf(hosts, instances), goal);
  if (plan.kind === 'impossible') return onRefused({ uuid: '', name: '', why: plan.why });
  const moves = await claimPlan(client, { plan, operation, name: 'rehearsed' });
  const moved = await carryOut({ client, clock, signal, onProgress() {} }, moves, how);
  const names = new Map(instances.map(({ uuid, name }) => [uuid, name]));
  for (const { move, outcome, why } of moved) {
    const { instanceUuid: uuid } = move;
    if (outcome !== 'moved' && outcome !== 'ended') onRefused({ uuid, name: names.get(uuid) ?? '', why });
  }
}

async function build({ client, onRefused }: Performer, { request, timeoutMs }: Builds): Promise<void> {
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
