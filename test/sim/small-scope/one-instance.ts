import { hash } from 'node:crypto';
import type { IncomingMessage, OutgoingMessage, Settlement } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { SERVICE } from '#libs/contracts/identity';
import { BUILD_REQUESTS, BUILD_RESULTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import { requestSpec } from '#libs/domain/request-spec';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { memoryLeaseStore } from '#libs/instances/memory/lease-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import type { SmallWorld } from '#libs/simulation/explore';
import type { Stores } from '#libs/simulation/store-server';
import { Gate } from './gate';
import { SmallHost } from './small-host';
import { HOSTS, hostOf, reportOf, selectDestinations } from './small-scheduler';
import { startTask, type Task } from './task';

/** The one fault of a run, at any moment of it. */
export const FAULTS = ['none', 'message twice', 'conductor dies', 'answer lost', 'order lost'] as const;
export type Fault = (typeof FAULTS)[number];

const UUID = '00000000-0000-4000-8000-000000000001';
const REQUEST_ID = '00000000-0000-4000-8000-000000000002';
const START_MS = 1_000_000;
/** Longer than every deadline. */
const LONG_MS = 10_000_000;
/** Time passes so often: once for the build, once for its destruction, once to look again. */
const MOST_LONG_TIMES = 3;
const RESTING: readonly (string | undefined)[] = ['active', 'error', 'deleted'];

interface Queued extends OutgoingMessage {
  readonly name: string;
  readonly queue: string;
  readonly redelivered: boolean;
}

/**
 * One instance, two hosts with room for it, one terminate that may come at any time, one build that may fail, and one
 * fault. The conductor's code and its stores are real; each message is taken, and each step of each task done, when it is
 * chosen. Hosts and the scheduler are a few lines that say what the real ones promise.
 */
export class OneInstance implements SmallWorld {
  readonly #gate = new Gate();
  readonly #clock = { now: () => this.#nowMs, elapsed: () => this.#nowMs, after: () => () => {} };
  readonly #stores: Stores = {
    placement: new MemoryPlacementStore(),
    instances: memoryInstanceStore(this.#clock),
    leases: memoryLeaseStore(this.#clock),
  };
  readonly #queue: Queued[] = [];
  readonly #hosts: readonly SmallHost[];
  readonly #inHand = new Map<string, Queued>();
  #nowMs = START_MS;
  #left = { faults: 1, failures: 1, terminates: 1 };
  #taskCount = 0;
  #record: Instance | undefined;
  #claim: Consumer | undefined;
  #problem: string | undefined;

  private constructor(private readonly fault: Fault) {
    const report: SmallHost['events']['report'] = (host, attempt, outcome) => {
      const rest = { reason: '', message: '', claimToken: 0, alternates: [], epoch: 0, position: 0 };
      const body = buildReportCodec.encode({ instanceUuid: UUID, host, attempt, outcome, ...rest });
      this.#send(`${outcome} of ${host}, attempt ${attempt}`, BUILD_RESULTS.name, buildReportCodec.type, body);
    };
    const destroyed = (host: string, attempt: number) => this.#checkDestroyed(host, attempt);
    this.#hosts = HOSTS.map((name) => new SmallHost(name, { report, destroyed }));
  }

  static async begin(fault: Fault): Promise<OneInstance> {
    const world = new OneInstance(fault);
    for (const host of HOSTS) await world.#stores.placement.reportHost(reportOf(host, START_MS));
    const spec = requestSpecCodec.encode(requestSpec({ VCPU: 1 }, { projectId: 'p', userId: 'u' }));
    const request = { requestId: REQUEST_ID, requestSpec: spec, count: 1, name: 'one', instanceUuids: [UUID] };
    world.#send('build request', BUILD_REQUESTS.name, buildRequestCodec.type, buildRequestCodec.encode(request));
    return world;
  }

  choices(): string[] {
    if (this.#problem !== undefined) return [];
    const usual = [
      ...this.#gate.names,
      ...new Set(this.#queue.map(({ name }) => `conductor takes ${name}`)),
      ...this.#hosts.flatMap((host) => this.#choicesOf(host)),
    ];
    const mayPass = usual.length === 0 && this.#nowMs < START_MS + MOST_LONG_TIMES * LONG_MS;
    if (mayPass) usual.push('time passes');
    const mayTerminate = this.#record !== undefined && this.#left.terminates > 0;
    if (mayTerminate) usual.push('client terminates');
    return this.#left.faults > 0 ? [...usual, ...this.#faults()] : usual;
  }

  async choose(name: string): Promise<void> {
    const [, verb = name, what = ''] = /^(conductor takes|twice|dies|lost|no order for|h1|h2):? (.*)$/.exec(name) ?? [];
    if (this.#faults().includes(name)) this.#left.faults--;
    const act = this.#acts[verb];
    if (act) await act(what, verb);
    else await this.#gate.release(name);
    await settled();
    [this.#record] = await this.#stores.instances.get([UUID]);
    [this.#claim] = await this.#stores.placement.consumers([UUID]);
    this.#checkRest();
  }

  fingerprint(): string {
    const record = this.#record && { ...this.#record, requestSpec: 0, alternates: this.#record.alternates.length };
    const state = [
      record,
      this.#claim && [this.#claim.allocations, this.#claim.claimToken],
      this.#hosts.map(({ tracked, tombstone, orders }) => [tracked, tombstone, orders.map(({ body }) => [...body])]),
      this.#queue.map(({ name, redelivered }) => [name, redelivered]),
      this.#gate.traces,
      this.#gate.names,
      this.#left,
      this.#nowMs,
    ];
    return hash('sha1', JSON.stringify(state), 'base64');
  }

  violation(): string | undefined {
    return this.#problem;
  }

  readonly #acts: Readonly<Record<string, (what: string, verb: string) => void | Promise<void>>> = {
    'conductor takes': (name) => this.#take(name),
    'time passes': () => this.#passTime(),
    'client terminates': () => this.#terminate(),
    h1: (what, host) => this.#hostActs(host, what),
    h2: (what, host) => this.#hostActs(host, what),
    twice: (name) => void this.#queue.push(this.#queue.find((one) => one.name === name) as Queued),
    dies: (task) => this.#die(task),
    lost: (step) => this.#gate.release(step, true),
    'no order for': (host) => void this.#host(host).orders.shift(),
  };

  #faults(): string[] {
    switch (this.fault) {
      case 'message twice':
        return [...new Set(this.#queue.map(({ name }) => `twice: ${name}`))];
      case 'conductor dies':
        return [...this.#inHand.keys()].map((task) => `dies: ${task}`);
      case 'answer lost':
        return this.#gate.names.map((name) => `lost: ${name}`);
      case 'order lost':
        return this.#hosts.filter(({ orders }) => orders.length > 0).map(({ name }) => `no order for ${name}`);
      case 'none':
        return [];
    }
  }

  #choicesOf({ name, orders, tracked }: SmallHost): string[] {
    const choices = orders.length > 0 ? [`${name} takes its next order`] : [];
    if (tracked?.state === 'building') {
      choices.push(`${name} has built it`);
      if (this.#left.failures > 0) choices.push(`${name} fails to build it`);
    }
    return choices;
  }

  #hostActs(name: string, what: string): void {
    const host = this.#host(name);
    if (what === 'takes its next order') return host.takeOrder(this.#nowMs);
    if (what === 'fails to build it') this.#left.failures--;
    host.endBuild(what === 'has built it' ? 'active' : 'failed');
  }

  #host(name: string): SmallHost {
    return this.#hosts.find((host) => host.name === name) as SmallHost;
  }

  #send(name: string, queue: string, type: string, body: Uint8Array): void {
    this.#queue.push({ name, queue, type, body, redelivered: false });
  }

  #terminate(): void {
    this.#left.terminates--;
    const body = terminateInstanceCodec.encode({ instanceUuid: UUID, projectId: '' });
    this.#send('terminate', BUILD_REQUESTS.name, terminateInstanceCodec.type, body);
  }

  async #take(name: string): Promise<void> {
    const at = this.#queue.findIndex((one) => one.name === name);
    const [message] = this.#queue.splice(at, 1) as [Queued];
    const [task, conductor] = await this.#begin(name);
    this.#inHand.set(task, message);
    void conductor
      .handle(message.queue)(incoming(message))
      .then((settlement) => this.#settle(task, settlement));
  }

  #settle(task: string, settlement: Settlement): void {
    const message = this.#inHand.get(task);
    if (message === undefined) return;
    this.#end(task);
    if (settlement.kind === 'requeue') this.#queue.push({ ...message, redelivered: true });
    // A terminate that finds it ended is refused; nothing else may be.
    if (settlement.kind === 'drop' && settlement.error.code === 'internal') this.#problem = settlement.error.message;
  }

  /** A conductor dies: what it had in hand is given to another. */
  #die(task: string): void {
    const message = this.#inHand.get(task) as Queued;
    this.#end(task);
    this.#queue.push({ ...message, redelivered: true });
  }

  async #begin(what: string): Promise<[string, Task]> {
    const task = `${what} #${++this.#taskCount}`;
    this.#gate.begin(task);
    const conductor = await startTask({
      stores: this.#stores,
      now: () => this.#nowMs,
      pass: (step, effect) => this.#gate.pass(task, step, effect),
      select: (body) => selectDestinations(this.#stores.placement, body, this.#nowMs),
      order: (host, message) => void this.#host(host).orders.push(message),
    });
    return [task, conductor];
  }

  #end(task: string): void {
    this.#gate.end(task);
    this.#inHand.delete(task);
  }

  /** Nothing else happens for long: conductors look at what is overdue, and compare claims with records. */
  async #passTime(): Promise<void> {
    this.#nowMs += LONG_MS;
    const [, conductor] = await this.#begin('periodic');
    conductor.doPeriodically();
  }

  #checkDestroyed(host: string, attempt: number): void {
    const record = this.#record;
    const isWanted = record?.state === 'active' && record.host === host && attemptNumber(record) === attempt;
    if (isWanted) this.#problem = `it is ACTIVE on ${host} and was destroyed there`;
  }

  /** When nothing is left to happen, record, claim and hosts agree. */
  #checkRest(): void {
    const isOver = this.choices().every((choice) => choice === 'client terminates');
    if (this.#problem !== undefined || !isOver) return;
    const { state, host } = this.#record ?? {};
    const wanted = state === 'active' ? String(host) : '';
    const running = this.#hosts.filter(({ tracked }) => tracked !== undefined).map(({ name }) => name);
    const claimed = Object.keys(this.#claim?.allocations ?? {}).map(hostOf);
    if (!RESTING.includes(state)) this.#problem = `it rests in ${state ?? 'no record'}`;
    else if (running.join() !== wanted)
      this.#problem = `it is ${state} and runs on ${running.join(' and ') || 'no host'}`;
    else if (claimed.join() !== wanted)
      this.#problem = `it is ${state} and claims ${claimed.join(' and ') || 'no host'}`;
  }
}

function incoming({ name, type, body, redelivered }: Queued): IncomingMessage {
  const none = {
    sender: '',
    identity: SERVICE,
    replyTo: undefined,
    correlationId: undefined,
    deadlineMs: undefined,
    isAborted: false,
  };
  return { type, body, redelivered, id: name, ...none, signal: new AbortController().signal };
}

/** A turn of the event loop: every promise that can go on has gone on. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
