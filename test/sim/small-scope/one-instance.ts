import { createHash } from 'node:crypto';
import type { Bus, IncomingMessage, OutgoingMessage, Settlement } from '#libs/bus/port';
import { buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import type { BuildOutcome } from '#libs/contracts/messages';
import { type QueueAddress, queueName } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { type AllocationRequest, open, sealer } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { SmallWorld } from '#libs/simulation/explore';
import type { Conductor } from '../../../services/conductor/context';
import { conductorMetrics } from '../../../services/conductor/metrics';
import { conductorOptions } from '../../../services/conductor/options';
import { audit } from '../../../services/conductor/triggers/audit';
import { onBuildReport } from '../../../services/conductor/triggers/build-report';
import { onBuildRequest } from '../../../services/conductor/triggers/build-request';
import { sweepOverdue } from '../../../services/conductor/triggers/overdue-sweep';
import { retryOptions } from '../../../services/conductor/triggers/settle-message';
import { onTerminateRequest } from '../../../services/conductor/triggers/terminate-request';
import { Gate } from './gate';

/** The one fault of a run: none, or one of these, at any moment. */
export type Fault = 'none' | 'message twice' | 'conductor dies' | 'answer lost' | 'order lost';

const KEY = 'the key of a small world';
const UUID = '00000000-0000-4000-8000-000000000001';
const REQUEST = '00000000-0000-4000-8000-000000000002';
const HOSTS = ['h1', 'h2'] as const;
const START_MS = 1_000_000;
/** Longer than every deadline. */
const LONG_MS = 10_000_000;
const METRICS = createMetrics({});
const MEASURED = conductorMetrics(METRICS);
const CONFIG = { ...readConfig(conductorOptions, {}), retentionMs: 1_000 * LONG_MS };
const HANDLERS: Readonly<Record<string, (c: Conductor, message: IncomingMessage) => Promise<Settlement>>> = {
  [buildRequestCodec.type]: onBuildRequest,
  [terminateInstanceCodec.type]: onTerminateRequest,
  [buildReportCodec.type]: onBuildReport,
};

interface Queued extends OutgoingMessage {
  /** What it says, short. */
  readonly name: string;
  readonly redelivered: boolean;
}

interface HostState {
  tracked: { attempt: number; state: 'building' | 'running' } | undefined;
  tombstone: number;
  readonly orders: Queued[];
}

/**
 * One instance, two hosts with room for it, one terminate that may come at any time, one build that may fail, one fault.
 * The conductor's own code and its stores are real; each of its steps waits until it is chosen. Hosts and the scheduler
 * are a few lines each that say what the real ones promise.
 */
export class OneInstance implements SmallWorld {
  readonly #gate = new Gate();
  readonly #placement = new MemoryPlacementStore();
  readonly #instances = memoryInstanceStore();
  readonly #queue: Queued[] = [];
  readonly #hosts = new Map<string, HostState>(
    HOSTS.map((host) => [host, { tracked: undefined, tombstone: 0, orders: [] }]),
  );
  readonly #random = seededRandom(1);
  #inHand = new Map<string, Queued>();
  #nowMs = START_MS;
  #faultsLeft: number;
  #failuresLeft = 1;
  #terminatesLeft = 1;
  #taskCount = 0;
  #problem: string | undefined;
  #record: Instance | undefined;

  private constructor(private readonly fault: Fault) {
    this.#faultsLeft = fault === 'none' ? 0 : 1;
  }

  static async begin(fault: Fault): Promise<OneInstance> {
    const world = new OneInstance(fault);
    for (const host of HOSTS) await world.#placement.reportHost(reportOf(host));
    const spec = requestSpecCodec.encode(requestSpec({ VCPU: 1 }, { projectId: 'p', userId: 'u' }));
    const request = { requestId: REQUEST, requestSpec: spec, count: 1, name: 'one', instanceUuids: [UUID] };
    world.#send('build request', buildRequestCodec.type, buildRequestCodec.encode(request));
    return world;
  }

  choices(): string[] {
    if (this.#problem !== undefined) return [];
    const steps = this.#gate.names;
    const messages = this.#queue.map(({ name }) => `conductor takes ${name}`);
    const hosts = HOSTS.flatMap((host) => this.#choicesOf(host));
    const isThere = this.#record !== undefined && this.#terminatesLeft > 0;
    const usual = [...new Set([...steps, ...messages, ...hosts, ...(isThere ? ['client terminates'] : [])])];
    const isQuiet = steps.length + messages.length + hosts.length === 0;
    const time = isQuiet && this.#isUnfinished() ? ['time passes'] : [];
    return [...usual, ...time, ...(this.#faultsLeft > 0 ? this.#faults() : [])];
  }

  async choose(name: string): Promise<void> {
    const [, what = '', argument = ''] = /^(conductor takes|twice:|dies:|lost:|no order:|h[12]) (.*)$/.exec(name) ?? [];
    switch (what) {
      case 'conductor takes':
        this.#take(argument);
        break;
      case 'h1':
      case 'h2':
        this.#hostActs(what, argument);
        break;
      case 'twice:':
        this.#faultsLeft--;
        this.#queue.push(this.#queue.find((one) => one.name === argument) as Queued);
        break;
      case 'dies:':
        this.#faultsLeft--;
        this.#die(argument);
        break;
      case 'lost:':
        this.#faultsLeft--;
        await this.#gate.release(argument, true);
        break;
      case 'no order:':
        this.#faultsLeft--;
        this.#hosts.get(argument)?.orders.shift();
        break;
      default:
        if (name === 'client terminates') this.#terminate();
        else if (name === 'time passes') this.#timePasses();
        else await this.#gate.release(name);
    }
    await settled();
    [this.#record] = await this.#instances.get([UUID]);
    await this.#checkRest();
  }

  fingerprint(): string {
    const state = {
      record: this.#record && { ...this.#record, requestSpec: 0, alternates: this.#record.alternates.length },
      hosts: [...this.#hosts],
      queue: this.#queue.map(({ name, redelivered }) => [name, redelivered]),
      tasks: this.#gate.traces,
      steps: this.#gate.names,
      left: [this.#faultsLeft, this.#failuresLeft, this.#terminatesLeft],
      now: this.#nowMs,
      claim: this.#claim,
    };
    return createHash('sha1').update(JSON.stringify(state)).digest('base64');
  }

  violation(): string | undefined {
    return this.#problem;
  }

  #claim: unknown;

  #choicesOf(host: string): string[] {
    const { orders, tracked } = this.#hosts.get(host) as HostState;
    const choices = orders.length > 0 ? [`${host} takes its next order`] : [];
    if (tracked?.state === 'building') {
      choices.push(`${host} has built it`);
      if (this.#failuresLeft > 0) choices.push(`${host} fails to build it`);
    }
    return choices;
  }

  #faults(): string[] {
    switch (this.fault) {
      case 'message twice':
        return [...new Set(this.#queue.map(({ name }) => `twice: ${name}`))];
      case 'conductor dies':
        return [...this.#inHand.keys()].map((task) => `dies: ${task}`);
      case 'answer lost':
        return this.#gate.names.map((name) => `lost: ${name}`);
      case 'order lost':
        return HOSTS.filter((host) => (this.#hosts.get(host)?.orders.length ?? 0) > 0).map(
          (host) => `no order: ${host}`,
        );
      case 'none':
        return [];
    }
  }

  #send(name: string, type: string, body: Uint8Array): void {
    this.#queue.push({ name, type, body, redelivered: false });
  }

  #terminate(): void {
    this.#terminatesLeft--;
    const body = terminateInstanceCodec.encode({ instanceUuid: UUID, projectId: '' });
    this.#send('terminate', terminateInstanceCodec.type, body);
  }

  #take(name: string): void {
    const at = this.#queue.findIndex((one) => one.name === name);
    const [message] = this.#queue.splice(at, 1) as [Queued];
    const task = this.#newTask(message.name);
    this.#inHand.set(task, message);
    const handle = HANDLERS[message.type] as (typeof HANDLERS)[string];
    const incoming = {
      ...message,
      id: name,
      sender: '',
      replyTo: undefined,
      correlationId: undefined,
      deadlineMs: undefined,
    };
    const { signal } = new AbortController();
    void handle(this.#conductor(task), { ...incoming, signal, isAborted: false }).then((settlement) => {
      if (!this.#gate.isRunning(task)) return;
      this.#endTask(task);
      if (settlement.kind === 'drop' && settlement.error.code === 'internal') this.#problem = settlement.error.message;
    });
  }

  /** Its message is given to somebody else. */
  #die(task: string): void {
    const message = this.#inHand.get(task) as Queued;
    this.#endTask(task);
    this.#queue.push({ ...message, redelivered: true });
  }

  #newTask(what: string): string {
    const task = `${what} #${++this.#taskCount}`;
    this.#gate.begin(task);
    return task;
  }

  #endTask(task: string): void {
    this.#gate.end(task);
    this.#inHand.delete(task);
  }

  /** Nothing else happens: what is overdue is looked at, and claims are compared with records. */
  #timePasses(): void {
    this.#nowMs += LONG_MS;
    const task = this.#newTask('sweep');
    const c = this.#conductor(task);
    void sweepOverdue(c)
      .then(() => audit(c, 'holder'))
      .then(() => this.#endTask(task));
  }

  #hostActs(name: string, what: string): void {
    const host = this.#hosts.get(name) as HostState;
    const { tracked } = host;
    if (what === 'takes its next order') return this.#takeOrder(name, host);
    if (tracked === undefined) return;
    if (what === 'has built it') {
      tracked.state = 'running';
      this.#report(name, tracked.attempt, 'active');
    } else {
      this.#failuresLeft--;
      host.tracked = undefined;
      this.#report(name, tracked.attempt, 'failed');
    }
  }

  #takeOrder(name: string, host: HostState): void {
    const order = host.orders.shift() as Queued;
    const { tracked } = host;
    if (order.type === destroyInstanceCodec.type) {
      const { attempt, report } = destroyInstanceCodec.decode(order.body);
      const isSuperseded = tracked !== undefined && attempt !== 0 && tracked.attempt > attempt;
      if (!isSuperseded) this.#destroy(name, host, attempt);
      if (report) this.#report(name, attempt || (tracked?.attempt ?? 0), 'destroyed');
      return;
    }
    const { attempt, deadlineAtMs } = buildInstanceCodec.decode(order.body);
    if (attempt <= host.tombstone) return this.#report(name, attempt, 'destroyed');
    if (tracked && tracked.attempt > attempt) return;
    if (tracked) {
      tracked.attempt = attempt;
      if (tracked.state === 'running') this.#report(name, attempt, 'active');
    } else if (deadlineAtMs <= this.#nowMs) this.#report(name, attempt, 'refused');
    else host.tracked = { attempt, state: 'building' };
  }

  #destroy(name: string, host: HostState, attempt: number): void {
    const { tracked } = host;
    const record = this.#record;
    const isWanted = record?.state === 'active' && record.host === name && attemptNumber(record) === tracked?.attempt;
    if (tracked?.state === 'running' && isWanted) this.#problem = `it is ACTIVE on ${name} and was destroyed there`;
    host.tombstone = Math.max(host.tombstone, attempt || (tracked?.attempt ?? 99));
    host.tracked = undefined;
  }

  #report(host: string, attempt: number, outcome: BuildOutcome): void {
    const report = {
      instanceUuid: UUID,
      host,
      attempt,
      outcome,
      reason: '',
      message: '',
      claimToken: 0,
      alternates: [],
    };
    this.#send(`${outcome} of ${host}, attempt ${attempt}`, buildReportCodec.type, buildReportCodec.encode(report));
  }

  #isUnfinished(): boolean {
    const isOverdueOnce = this.#nowMs > START_MS + 2 * LONG_MS;
    return !isOverdueOnce;
  }

  /** When nothing is left to happen, record, claim and hosts agree. */
  async #checkRest(): Promise<void> {
    const [consumer] = await this.#placement.consumers([UUID]);
    this.#claim = consumer && [Object.keys(consumer.allocations), consumer.claimToken];
    if (this.#problem !== undefined || this.choices().some((choice) => !choice.startsWith('client'))) return;
    const record = this.#record;
    const running = HOSTS.filter((host) => this.#hosts.get(host)?.tracked !== undefined);
    const claimed = consumer ? Object.keys(consumer.allocations).map(hostOf) : [];
    const wanted = record?.state === 'active' ? [record.host] : [];
    const isAtRest = record !== undefined && ['active', 'error', 'deleted'].includes(record.state);
    if (!isAtRest) this.#problem = `it rests in ${record?.state ?? 'no record'}`;
    else if (String(running) !== String(wanted))
      this.#problem = `it is ${record.state} and runs on ${running.join(', ')}`;
    else if (String(claimed) !== String(wanted))
      this.#problem = `it is ${record.state} and has claimed ${claimed.join(', ')}`;
  }

  /** A conductor whose steps are those of one task. */
  #conductor(task: string): Conductor {
    const pass = <T>(what: string, effect: () => Promise<T>) => this.#gate.pass(task, what, effect);
    const clock = {
      now: () => this.#nowMs,
      after: (_delayMs: number, action: () => void) => {
        void pass('goes on after a pause', async () => {}).then(action);
        return () => {};
      },
    };
    const around = { clock, random: this.#random, log: silentLog, metrics: METRICS };
    const leases = memoryLeaseStore(clock);
    const instances = this.#instances;
    const base = {
      ...around,
      bus: this.#bus(pass),
      placement: gatedPlacement(this.#placement, pass),
      instances: {
        ...instances,
        create: (...args: Parameters<typeof instances.create>) =>
          pass('creates the record', () => instances.create(...args)),
        get: (uuids: readonly string[]) => pass('reads the record', () => instances.get(uuids)),
        update: (next: Instance) => pass(`writes ${next.state}, v${next.version}`, () => instances.update(next)),
      },
      leases,
      config: CONFIG,
      open: (sealed: Uint8Array) => open(sealed, KEY),
      measured: MEASURED,
      stopping: new AbortController().signal,
    };
    return { ...base, retry: retryOptions(base) };
  }

  #bus(pass: <T>(what: string, effect: () => Promise<T>) => Promise<T>): Bus {
    const bus: Pick<Bus, 'call' | 'cast' | 'publish' | 'depth'> = {
      call: (_queue, { body }) => pass('asks a scheduler', () => this.#select(body)),
      cast: (queue, message) => pass(`orders ${orderName(message)}`, async () => this.#order(queue, message)),
      publish: async () => {},
      depth: async () => 0,
    };
    return bus as Bus;
  }

  #order(queue: QueueAddress, message: OutgoingMessage): void {
    const host = queueName(queue).slice('agent.'.length);
    this.#hosts.get(host)?.orders.push({ ...message, name: orderName(message), redelivered: false });
  }

  /** As a scheduler promises it: a claim that is held is given again, else the first host with room is claimed. */
  async #select(body: Uint8Array): Promise<Uint8Array> {
    const { instanceUuids } = selectDestinationsMethod.request.decode(body);
    const [instanceUuid = ''] = instanceUuids;
    const [held] = await this.#placement.consumers([instanceUuid]);
    const host = held ? hostOf(Object.keys(held.allocations)[0] ?? '') : HOSTS[0];
    const selection = (on: string) => {
      const request = requestOn(on);
      return { host: on, cell: 'cell1', allocationRequest: sealer(KEY)(request)(request), serviceHost: on };
    };
    const atMs = this.#nowMs;
    const claim = { kind: 'write_allocations', atMs, consumers: [claimWrite(requestOn(host))] } as const;
    const result = held ? undefined : await this.#placement.commit(claim);
    const claimToken = held?.claimToken ?? (result?.kind === 'committed' ? result.claimToken : 0);
    const alternates = HOSTS.filter((other) => other !== host).map(selection);
    const destination = { instanceUuid, selected: selection(host), alternates, claimToken };
    return selectDestinationsMethod.response.encode({ destinations: [destination], noValidHost: undefined });
  }
}

function gatedPlacement(
  store: PlacementStore,
  pass: <T>(what: string, effect: () => Promise<T>) => Promise<T>,
): PlacementStore {
  return {
    commit: (command) => {
      // It weighs on later choices of hosts, and on nothing here.
      if (command.kind === 'record_failure') return Promise.resolve({ kind: 'unchanged' });
      return pass(command.kind, () => store.commit(command));
    },
    consumers: (uuids) => pass('reads the claim', () => store.consumers(uuids)),
    hosts: (names) => store.hosts(names),
    scanConsumers: (onRows) => store.scanConsumers(onRows),
    reportHost: (report) => store.reportHost(report),
    revision: () => store.revision(),
    snapshot: (onRows) => store.snapshot(onRows),
    follow: (...args) => store.follow(...args),
    close: async () => {},
  };
}

function orderName({ type, body }: OutgoingMessage): string {
  if (type === destroyInstanceCodec.type) {
    const { host, attempt } = destroyInstanceCodec.decode(body);
    return `${host} to destroy up to attempt ${attempt}`;
  }
  const { host, attempt } = buildInstanceCodec.decode(body);
  return `${host} to build attempt ${attempt}`;
}

function reportOf(host: string) {
  const nothing = { traits: [], aggregates: undefined, capabilities: {}, ioOps: 0, externalInstances: 0 };
  const names = { host, providerUuid: providerOf(host), cell: 'cell1', serviceHost: host, availabilityZone: 'zone' };
  return { atMs: START_MS, ...names, ...nothing, agentRun: 'run', sequence: 1, inventories: { VCPU: inventory(1) } };
}

function requestOn(host: string): AllocationRequest {
  const who = { projectId: 'p', userId: 'u', group: undefined, mappings: {} };
  return { consumerUuid: UUID, host, allocations: { [providerOf(host)]: { VCPU: 1 } }, ...who };
}

function providerOf(host: string): string {
  return `00000000-0000-4000-8000-0000000001${host.slice(1).padStart(2, '0')}`;
}

function hostOf(providerUuid: string): string {
  return `h${Number(providerUuid.slice(-2))}`;
}

/** A turn of the event loop: every promise that can go on has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
