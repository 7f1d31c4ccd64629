import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { capacityOf } from '#libs/domain/inventory';
import type { Client } from '../client/client';
import { type InstanceWatch, watchInstances } from '../client/instance-watch';
import { forEachConcurrently } from '../concurrent';
import type { Context } from '../context';
import { specOf } from '../demo/workload';
import { formatNumber } from '../views/format';
import { startProgress } from '../views/progress';
import type { TraceVm } from './read-trace';
import type { TraceEvent } from './timeline';

export interface ReplaySettings {
  /** Events under way at once: arrivals can overtake each other only within this window. */
  readonly inFlight: number;
  /** Seconds of the trace in one real second; 0 is as fast as possible. */
  readonly speed: number;
}

export interface ReplayOutcome {
  readonly seconds: number;
  /** The host of each placed VM, by vmId. */
  readonly placed: ReadonlyMap<string, string>;
  readonly departed: number;
  /** Numbers of failed VMs, by reason. */
  readonly failures: ReadonlyMap<string, number>;
  /** From request to ACTIVE, of each placed VM. */
  readonly latenciesMs: readonly number[];
  /** The capacity of the whole fleet. */
  readonly capacity: { readonly hosts: number; readonly cores: number; readonly ram: number };
}

/** After this an event counts as failed. */
const EVENT_WAIT = { timeoutMs: 120_000 };
const SECONDS_PER_DAY = 86_400;

interface Replay {
  readonly client: Client;
  readonly context: Context;
  readonly watch: InstanceWatch;
  /** The instance of each requested VM, by vmId; undefined when it was not placed. */
  readonly arrivals: Map<string, Promise<string | undefined>>;
  readonly placed: Map<string, string>;
  readonly failures: Map<string, number>;
  readonly latenciesMs: number[];
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
  const watch = await watchInstances(client);
  const replay: Replay = {
    client,
    context,
    watch,
    arrivals: new Map(),
    placed: new Map(),
    failures: new Map(),
    latenciesMs: [],
  };
  const startedMs = clock.now();
  const progress = startProgress(terminal, clock, 'replaying', events.length);
  let done = 0;
  let departed = 0;
  const detail = () => {
    const [placed, gone, failed] = [replay.placed.size, departed, sum(replay.failures)].map(formatNumber);
    return `${placed} placed, ${gone} departed, ${failed} failed`;
  };
  try {
    const step = async (event: TraceEvent) => {
      if (settings.speed > 0) await waitUntilDue(context, event, startedMs, settings.speed);
      if (event.kind === 'arrival') await arrive(replay, event.vm);
      else if (await depart(replay, event.vm)) departed += 1;
      progress.show(++done, detail);
    };
    await forEachConcurrently(events, settings.inFlight, step, interrupted);
    progress.finish(detail());
  } finally {
    await watch.close();
  }
  if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'the replay was interrupted');
  const { placed, failures, latenciesMs } = replay;
  return { seconds: (clock.now() - startedMs) / 1000, placed, departed, failures, latenciesMs, capacity };
}

/** VMs from before the beginning of the trace arrive at its beginning. */
async function waitUntilDue({ clock, interrupted }: Context, event: TraceEvent, startedMs: number, speed: number) {
  const dueMs = startedMs + (Math.max(0, event.atDays) * SECONDS_PER_DAY * 1000) / speed;
  if (dueMs > clock.now()) await sleep(clock, dueMs - clock.now(), interrupted);
}

async function arrive(replay: Replay, vm: TraceVm): Promise<void> {
  const arrival = build(replay, vm);
  replay.arrivals.set(vm.vmId, arrival);
  await arrival;
}

async function build({ client, context, watch, placed, failures, latenciesMs }: Replay, vm: TraceVm) {
  const { clock, random } = context;
  const uuid = random.uuid();
  const startedMs = clock.now();
  const settled = watch.until(uuid, ['active', 'error'], EVENT_WAIT);
  const request = {
    requestId: random.uuid(),
    requestSpec: requestSpecCodec.encode(specOf({ VCPU: vm.cores, MEMORY_MB: vm.ram }, `tenant-${vm.tenantId}`)),
    count: 1,
    name: `vm-${vm.vmId}`,
    instanceUuids: [uuid],
  };
  const outcome = await Promise.all([settled, client.build(request)]).then(
    ([event]) => event,
    (thrown: unknown) => orInterrupted(BerthError.from(thrown)),
  );
  if (!(outcome instanceof BerthError) && outcome.state === 'active') {
    latenciesMs.push(clock.now() - startedMs);
    placed.set(vm.vmId, outcome.host);
    return uuid;
  }
  const reason = outcome instanceof BerthError ? outcome.reason : (outcome.fault?.reason ?? 'unknown');
  failures.set(reason, (failures.get(reason) ?? 0) + 1);
  return undefined;
}

/** Terminates a VM; false when it was never placed or the termination failed. */
async function depart({ client, watch, arrivals, failures }: Replay, vm: TraceVm): Promise<boolean> {
  const uuid = await arrivals.get(vm.vmId);
  arrivals.delete(vm.vmId);
  if (uuid === undefined) return false;
  const gone = watch.until(uuid, ['deleted'], EVENT_WAIT);
  return Promise.all([gone, client.terminate(uuid)]).then(
    () => true,
    (thrown: unknown) => {
      const reason = `departure: ${orInterrupted(BerthError.from(thrown)).reason}`;
      failures.set(reason, (failures.get(reason) ?? 0) + 1);
      return false;
    },
  );
}

function orInterrupted(error: BerthError): BerthError {
  if (error.reason === 'interrupted' || error.code === 'internal') throw error;
  return error;
}

async function fleetCapacity(client: Client) {
  const hosts = await client.hosts();
  const total = (name: string) =>
    hosts.reduce((all, { resources }) => all + (resources[name] ? capacityOf(resources[name].inventory) : 0), 0);
  return { hosts: hosts.length, cores: total('VCPU'), ram: total('MEMORY_MB') };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0);
}
