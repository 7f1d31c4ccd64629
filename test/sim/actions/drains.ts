import { Client } from '#libs/client/client';
import { type DrainClient, type Drained, drainHost } from '#libs/client/drain/drain-host';
import type { InstanceOperation } from '#libs/contracts/operations';
import { type Random, randomInt } from '#libs/domain/random';
import { HOSTS } from '../settings';
import { START_MS } from '../world/processes';
import { confirmed, type Perform, pick, type World } from './common';
import { conductorDies, noteAsked } from './operations';

/** Drains after the faults, when no decision made during one is still under way. */
const DRAINED_AGAIN_MS = [42_000, 50_000] as const;
/** The limit for one instance. */
const TIMEOUT_MS = 9_000;

/**
 * An operator drains a host, and may stop half-way. After a while the host is put back into service, or stays out of it and is drained
 * again after all faults have ended.
 */
export function drain(random: Random): Perform {
  const host = pick(random, HOSTS);
  const parallel = 1 + randomInt(random, 3);
  const interruptedAfterMs = random.next() < 0.3 ? random.next() * 4_000 : undefined;
  const undrainedAfterMs = random.next() < 0.4 ? 2_000 + random.next() * 12_000 : undefined;
  const dies = random.next() < 0.4 ? conductorDies(random) : () => {};
  return (world) => {
    const { fleet, checker } = world;
    const interrupted = new AbortController();
    dies(world);
    void drainNow(world, host, parallel, interrupted.signal);
    if (interruptedAfterMs !== undefined) fleet.later(interruptedAfterMs, () => interrupted.abort());
    if (undrainedAfterMs !== undefined) fleet.later(undrainedAfterMs, () => undrainNow(world, host));
    else if (checker.operatedHosts.toDrain.size < MOST_DRAINED) checker.operatedHosts.toDrain.add(host);
    else fleet.later(0, () => undrainNow(world, host));
    for (const atMs of DRAINED_AGAIN_MS) {
      fleet.time.at(START_MS + atMs, () => {
        if (checker.operatedHosts.toDrain.has(host)) void drainFinally(world, host, parallel);
      });
    }
  };
}

/** The other hosts need capacity for the drained instances. */
const MOST_DRAINED = 2;

/** An operator puts a host into service, drained or not. */
export function undrain(random: Random): Perform {
  const host = pick(random, HOSTS);
  return (world) => undrainNow(world, host);
}

function undrainNow(world: World, host: string): void {
  world.checker.operatedHosts.toDrain.delete(host);
  void confirmed(operatorOf(world).setHostEnabled(host, true));
}

async function drainFinally(world: World, host: string, parallel: number): Promise<void> {
  const { known, operatedHosts } = world.checker;
  const versions = new Map([...known].map(([uuid, { latest }]) => [uuid, latest.version]));
  const drained = await drainNow(world, host, parallel, new AbortController().signal);
  if (drained && operatedHosts.toDrain.has(host)) operatedHosts.drainEnded(host, { drained, versions });
}

/** Undefined when the call failed, or there is no such host. */
async function drainNow(
  world: World,
  host: string,
  parallel: number,
  signal: AbortSignal,
): Promise<readonly Drained[] | undefined> {
  const { fleet } = world;
  const { clock } = fleet.member('operator').process;
  fleet.note('operator', `drains ${host}`);
  const parts = { client: drainClient(world), clock, signal, onProgress: () => {} };
  const options = { host, reason: 'drained', parallel, timeoutMs: TIMEOUT_MS };
  const drained = await drainHost(parts, options).catch(() => undefined);
  const staying = drained?.flatMap(({ uuid, stays }) => (stays === undefined ? [] : [`${uuid}: ${stays}`]));
  fleet.note('operator', `has drained ${host}: ${drained?.length ?? 'not'}; ${staying?.join('; ') ?? ''}`);
  return drained;
}

/** An operator's client; the checker notes its calls. */
function drainClient(world: World): DrainClient {
  const client = operatorOf(world);
  return {
    setHostEnabled: (...args) => client.setHostEnabled(...args),
    instances: (query) => client.instances(query),
    instance: (uuid) => client.instance(uuid),
    moveInstances: (operation, moves, options) => {
      for (const { instanceUuid } of moves) {
        noteAsked(world.checker, instanceUuid, operation);
        // A stopped instance is migrated cold.
        noteAsked(world.checker, instanceUuid, 'migrate');
      }
      return client.moveInstances(operation, moves, options);
    },
    operate: (uuid: string, operation: InstanceOperation, options) => {
      noteAsked(world.checker, uuid, operation);
      return client.operate(uuid, operation, options);
    },
  };
}

/** The operator's client. */
export function operatorOf({ fleet }: World): Client {
  const { bus, process } = fleet.member('operator');
  return new Client(bus, { clock: process.clock, random: process.random, timeoutMs: 2_000, retryForMs: 3_000 });
}
