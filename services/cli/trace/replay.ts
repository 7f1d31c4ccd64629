import type { Client } from '#libs/client/client';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { capacityOf } from '#libs/domain/inventory';
import { mapConcurrently } from '#libs/runtime/concurrent';
import type { Context } from '../context';
import { requestFor } from '../demo/workload';
import { formatNumber } from '../views/format';
import { type ShowProgress, withProgress } from '../views/progress';
import type { TraceVm } from './read-trace';
import type { CoresAndRam, TraceEvent } from './timeline';

export interface ReplaySettings {
  /** Limit of the events in progress: arrivals overtake each other only within this window. */
  readonly inFlight: number;
  /** Trace seconds per real second; 0 is as fast as possible. */
  readonly speed: number;
}

/** The outcomes of a trace's VMs. */
interface Tally {
  /** The host of each placed VM, by vmId. */
  readonly placed: Map<string, string>;
  departed: number;
  /** The reason of each failure. */
  readonly failures: string[];
  /** From request to ACTIVE, for each placed VM. */
  readonly latenciesMs: number[];
}

export interface ReplayOutcome extends Tally {
  readonly seconds: number;
  /** The capacity of the whole fleet. */
  readonly capacity: FleetCapacity;
}

/** The capacity of a fleet, by host and in all. */
export interface FleetCapacity extends CoresAndRam {
  readonly hosts: number;
  readonly byHost: ReadonlyMap<string, CoresAndRam>;
}

/** Time limit of an event. */
const EVENT_WAIT = { timeoutMs: 120_000 };
const SECONDS_PER_DAY = 86_400;

interface Replay {
  readonly client: Client;
  readonly context: Context;
  readonly tally: Tally;
  /** The instance of each requested VM, by vmId; undefined when it was not placed. */
  readonly arrivals: Map<string, Promise<string | undefined>>;
}

/**
 * Builds and terminates a trace's VMs in the order of its events, a window of them at once. A VM's departure waits for
 * the outcome of its arrival.
 *
 * @throws BerthError `aborted / interrupted`.
 */
export async function replayTrace(
  context: Context,
  client: Client,
  events: readonly TraceEvent[],
  settings: ReplaySettings,
): Promise<ReplayOutcome> {
  const { clock, terminal, interrupted } = context;
  const capacity = await fleetCapacity(client);
  const tally: Tally = { placed: new Map(), departed: 0, failures: [], latenciesMs: [] };
  const replay: Replay = { client, context, tally, arrivals: new Map() };
  const startedMs = clock.elapsed();
  let done = 0;
  const detail = () => {
    const [placed, departed, failed] = [tally.placed.size, tally.departed, tally.failures.length].map(formatNumber);
    return `${placed} placed, ${departed} departed, ${failed} failed`;
  };
  const step = async (event: TraceEvent, show: ShowProgress) => {
    if (settings.speed > 0) await waitUntilDue(context, event, startedMs, settings.speed);
    if (event.kind === 'arrival') await arrive(replay, event.vm);
    else await depart(replay, event.vm);
    show(++done, events.length, detail);
  };
  await withProgress(terminal, 'replaying', (show) =>
    mapConcurrently(events, settings.inFlight, (event) => step(event, show), interrupted),
  );
  if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'the replay was interrupted');
  return { ...tally, seconds: (clock.elapsed() - startedMs) / 1000, capacity };
}

/** VMs from before the beginning of the trace arrive at its beginning. */
async function waitUntilDue({ clock, interrupted }: Context, event: TraceEvent, startedMs: number, speed: number) {
  const dueMs = startedMs + (Math.max(0, event.atDays) * SECONDS_PER_DAY * 1000) / speed;
  if (dueMs > clock.elapsed()) await sleep(clock, dueMs - clock.elapsed(), interrupted);
}

async function arrive(replay: Replay, vm: TraceVm): Promise<void> {
  const arrival = build(replay, vm);
  replay.arrivals.set(vm.vmId, arrival);
  await arrival;
}

async function build({ client, context, tally }: Replay, vm: TraceVm): Promise<string | undefined> {
  const { clock } = context;
  const startedMs = clock.elapsed();
  const resources = { VCPU: vm.cores, MEMORY_MB: vm.ram };
  const request = requestFor(`vm-${vm.vmId}`, resources, `tenant-${vm.tenantId}`);
  try {
    const [event] = await client.buildAndWait(request, EVENT_WAIT);
    if (event?.state === 'active') {
      tally.latenciesMs.push(clock.elapsed() - startedMs);
      tally.placed.set(vm.vmId, event.host);
      return event.instanceUuid;
    }
    tally.failures.push(event?.fault?.reason ?? 'unknown');
  } catch (thrown) {
    tally.failures.push(reasonOf(thrown));
  }
  return undefined;
}

/** Terminates a VM, if it was placed. */
async function depart({ client, tally, arrivals }: Replay, vm: TraceVm): Promise<void> {
  const uuid = await arrivals.get(vm.vmId);
  arrivals.delete(vm.vmId);
  if (uuid === undefined) return;
  try {
    await client.terminateAndWait(uuid, EVENT_WAIT);
    tally.departed += 1;
  } catch (thrown) {
    tally.failures.push(`departure: ${reasonOf(thrown)}`);
  }
}

/** @throws BerthError when it ends the whole replay: an interruption, or a defect. */
function reasonOf(thrown: unknown): string {
  const error = BerthError.from(thrown);
  if (error.reason === 'interrupted' || error.code === 'internal') throw error;
  return error.reason;
}

async function fleetCapacity(client: Client): Promise<FleetCapacity> {
  const byHost = new Map<string, CoresAndRam>();
  const all = { cores: 0, ram: 0 };
  for (const { host, resources } of await client.hosts()) {
    const capacity = (name: string) => (resources[name] ? capacityOf(resources[name].inventory) : 0);
    const own = { cores: capacity('VCPU'), ram: capacity('MEMORY_MB') };
    byHost.set(host, own);
    all.cores += own.cores;
    all.ram += own.ram;
  }
  return { hosts: byHost.size, ...all, byHost };
}
