import { hash } from 'node:crypto';
import type { IncomingMessage, OutgoingMessage, Settlement } from '#libs/bus/port';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { SERVICE } from '#libs/contracts/identity';
import { BUILD_REQUESTS, BUILD_RESULTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Consumer } from '#libs/domain/consumer';
import { attemptNumber, type Instance } from '#libs/domain/instance';
import { requestSpec } from '#libs/domain/request-spec';
import type { SmallWorld } from '#libs/simulation/explore';
import { Gate, settled } from './gate';
import { RecordedStores } from './recorded-stores';
import { type HostEvents, SmallHost } from './small-host';
import { HOSTS, hostOf, providerOf, reportOf, selectDestinations } from './small-scheduler';
import { PAUSE, PERIODIC, type Periodic, startTask, type Task } from './task';

/** The one fault of a run, at any moment of it. */
export const FAULTS = [
  'none',
  'message twice',
  'report lost',
  'order lost',
  'answer lost',
  'store refuses',
  'conductor dies',
  'agent dies',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Limits of further events in a run. */
export interface Bound {
  /** Builds that may fail. */
  readonly failures: number;
  /** Times that the client may terminate. */
  readonly terminates: number;
}

/** Conductors, each of which does one task at a time. */
const CONDUCTORS = 2;
const UUID = '00000000-0000-4000-8000-000000000001';
const REQUEST_ID = '00000000-0000-4000-8000-000000000002';
const START_MS = 1_000_000;
/** Longer than every deadline. */
const LONG_MS = 10_000_000;
const NO_BYTES = new Uint8Array();
/** Times that the clock advances after the last message: for the build, for its destruction, and for an audit. */
const MOST_LONG_TIMES = 3;
const RESTING: readonly (string | undefined)[] = ['active', 'error', 'deleted'];

interface Queued extends OutgoingMessage {
  readonly name: string;
  readonly queue: string;
  readonly redelivered: boolean;
}

/**
 * One instance, two hosts with capacity for it, a terminate at any time, a build that may fail, and one fault. The conductor's code and its
 * stores are real; the search chooses the next message and the next step of each task. Hosts and the scheduler are short models of what the
 * real ones promise.
 */
export class OneInstance implements SmallWorld {
  readonly #gate = new Gate();
  #recorded = new RecordedStores(() => this.#nowMs);
  #queue: Queued[] = [];
  #hosts: readonly SmallHost[];
  readonly #inHand = new Map<string, Queued>();
  #nowMs = START_MS;
  #left: Bound & { faults: number };
  /** Times that the clock advanced since the last message. */
  #longTimes = 0;
  #record: Instance | undefined;
  #claim: Consumer | undefined;
  #problem: string | undefined;

  private constructor(
    private readonly fault: Fault,
    left: Bound,
  ) {
    this.#left = { faults: 1, failures: left.failures, terminates: left.terminates };
    this.#hosts = HOSTS.map((name) => new SmallHost(name, this.#hostEvents()));
  }

  #hostEvents(): HostEvents {
    const report: HostEvents['report'] = (host, attempt, outcome) => {
      const rest = { reason: '', message: '', claimToken: 0, alternates: [], epoch: 0, position: 0 };
      const body = buildReportCodec.encode({ instanceUuid: UUID, host, attempt, outcome, ...rest });
      this.#send(`${outcome} of ${host}, attempt ${attempt}`, BUILD_RESULTS.name, buildReportCodec.type, body);
    };
    return { report, destroyed: (host, attempt) => this.#checkDestroyed(host, attempt) };
  }

  static async begin(fault: Fault, bound: Bound): Promise<OneInstance> {
    const world = new OneInstance(fault, bound);
    for (const host of HOSTS) await world.#recorded.stores.placement.reportHost(reportOf(host, START_MS));
    const spec = requestSpecCodec.encode(requestSpec({ VCPU: 1 }, { projectId: 'p', userId: 'u' }));
    const request = { requestId: REQUEST_ID, requestSpec: spec, count: 1, name: 'one', instanceUuids: [UUID] };
    world.#send('build request', BUILD_REQUESTS.name, buildRequestCodec.type, buildRequestCodec.encode(request));
    return world;
  }

  /** Copies stores and hosts; each task under way begins again and gets its earlier answers. */
  async copy(): Promise<OneInstance> {
    const copy = new OneInstance(this.fault, this.#left);
    copy.#nowMs = this.#nowMs;
    copy.#left = { ...this.#left };
    copy.#longTimes = this.#longTimes;
    copy.#record = this.#record;
    copy.#claim = this.#claim;
    copy.#problem = this.#problem;
    copy.#queue = [...this.#queue];
    copy.#hosts = this.#hosts.map((host) => host.copy(copy.#hostEvents()));
    copy.#recorded = await this.#recorded.copy(() => copy.#nowMs);
    for (const task of this.#gate.tasks) {
      const message = this.#inHand.get(task);
      if (message) copy.#inHand.set(task, message);
      await copy.#gate.repeat(task, this.#gate, () => copy.#start(task));
    }
    return copy;
  }

  choices(): string[] {
    if (this.#problem !== undefined) return [];
    // A wait that ends has no effect of its own.
    const [pause] = this.#gate.names.filter(isPause);
    if (pause !== undefined) return [pause];
    const usual = [
      ...this.#gate.names,
      ...(this.#gate.tasks.length < CONDUCTORS ? this.#taken() : []),
      ...this.#hosts.flatMap((host) => this.#choicesOf(host)),
    ];
    const mayPass = usual.length === 0 && this.#longTimes < MOST_LONG_TIMES;
    if (mayPass) usual.push('time passes');
    const isFree = this.#gate.tasks.length < CONDUCTORS;
    const mayTerminate = isFree && this.#record !== undefined && this.#left.terminates > 0;
    if (mayTerminate) usual.push('client terminates');
    return this.#left.faults > 0 ? [...usual, ...this.#faults()] : usual;
  }

  async choose(name: string): Promise<void> {
    const [, verb = name, what = ''] =
      /^(conductor takes|twice|dies|lost|no store for|no order for|restarts|h1|h2):? (.*)$/.exec(name) ?? [];
    if (this.#faults().includes(name)) this.#left = { ...this.#left, faults: this.#left.faults - 1 };
    const act = this.#acts[verb];
    if (act) await act(what, verb);
    else await this.#gate.release(name);
    await settled();
    await this.#endPeriodic();
    const { instances, placement } = this.#recorded.stores;
    [this.#record] = await instances.get([UUID]);
    [this.#claim] = await placement.consumers([UUID]);
    this.#checkRest();
  }

  fingerprint(): string {
    const record = this.#record && { ...this.#record, requestSpec: 0, alternates: this.#record.alternates.length };
    const state = [
      record,
      this.#claim && [this.#claim.allocations, this.#claim.claimToken],
      this.#hosts.map((host) => host.fingerprint()),
      // Messages may overtake one another.
      this.#queue.map(({ name, redelivered }) => `${name} ${redelivered}`).sort(),
      this.#gate.places,
      this.#gate.names,
      this.#left,
      this.#nowMs,
      this.#longTimes,
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
    twice: (name) => void this.#queue.push(this.#messages().find((one) => one.name === name) as Queued),
    dies: (task) => this.#die(task),
    lost: (what) => this.#lose(what),
    'no store for': (step) => this.#gate.release(step, 'refused'),
    'no order for': (host) => void this.#host(host).orders.shift(),
    restarts: (host) => this.#host(host).restart(),
  };

  #faults(): string[] {
    switch (this.fault) {
      case 'message twice':
        return [...new Set(this.#messages().map(({ name }) => `twice: ${name}`))];
      case 'conductor dies':
        return [...this.#inHand.keys()].map((task) => `dies: ${task}`);
      case 'answer lost':
        return this.#asking().map((name) => `lost: ${name}`);
      case 'store refuses':
        return this.#asking().map((name) => `no store for: ${name}`);
      case 'report lost':
        return this.#reports().map(({ name }) => `lost: ${name}`);
      case 'agent dies':
        return this.#hosts.map(({ name }) => `restarts: ${name}`);
      case 'order lost':
        return this.#hosts.filter(({ orders }) => orders.length > 0).map(({ name }) => `no order for ${name}`);
      case 'none':
        return [];
    }
  }

  /** Steps that send a request. */
  #asking(): string[] {
    return this.#gate.names;
  }

  /** Messages that wait, and those that a conductor has in hand. */
  #messages(): Queued[] {
    return [...this.#queue, ...this.#inHand.values()];
  }

  #reports(): Queued[] {
    return this.#queue.filter(({ queue }) => queue === BUILD_RESULTS.name);
  }

  /** Loses the answer to a step, or a report. */
  async #lose(what: string): Promise<void> {
    const lost = this.#reports().find(({ name }) => name === what);
    if (lost) this.#queue.splice(this.#queue.indexOf(lost), 1);
    else await this.#gate.release(what, 'lost');
  }

  #taken(): string[] {
    return [...new Set(this.#queue.map(({ name }) => `conductor takes ${name}`))];
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
    if (what === 'fails to build it') this.#left = { ...this.#left, failures: this.#left.failures - 1 };
    host.endBuild(what === 'has built it' ? 'active' : 'failed');
  }

  #host(name: string): SmallHost {
    return this.#hosts.find((host) => host.name === name) as SmallHost;
  }

  #send(name: string, queue: string, type: string, body: Uint8Array): void {
    this.#queue.push({ name, queue, type, body, redelivered: false });
  }

  /** Taken at once: a later send covers the case that it waits in the queue. */
  #terminate(): Promise<void> {
    this.#left = { ...this.#left, terminates: this.#left.terminates - 1 };
    const body = terminateInstanceCodec.encode({ instanceUuid: UUID, projectId: '' });
    this.#send('terminate', BUILD_REQUESTS.name, terminateInstanceCodec.type, body);
    return this.#take('terminate');
  }

  async #take(name: string): Promise<void> {
    const at = this.#queue.findIndex((one) => one.name === name);
    const [message] = this.#queue.splice(at, 1) as [Queued];
    if (message.type !== hostDiscrepancyCodec.type) this.#longTimes = 0;
    const task = this.#taskName(name);
    this.#inHand.set(task, message);
    this.#gate.begin(task);
    await this.#start(task);
    await settled();
    // A message that was taken and not yet acted on equals one that waits, except for faults.
    const [first, ...others] = this.#gate.names.filter((step) => step.startsWith(`${task}: `));
    if (this.#faults().length === 0 && first !== undefined && others.length === 0) await this.#gate.release(first);
  }

  #settle(task: string, settlement: Settlement): void {
    const message = this.#inHand.get(task);
    if (message === undefined) return;
    this.#end(task);
    if (settlement.kind === 'requeue') this.#queue.push(again(message));
    // A terminate of an ended instance is refused; no other message may be.
    if (settlement.kind === 'drop' && settlement.error.code === 'internal') this.#problem = settlement.error.message;
  }

  /** A conductor dies: its message is redelivered to another. */
  #die(task: string): void {
    const message = this.#inHand.get(task) as Queued;
    this.#end(task);
    this.#queue.push(again(message));
  }

  /** Names are unique among running tasks, and equal states give equal names. */
  #taskName(what: string): string {
    let nth = 1;
    while (this.#gate.tasks.includes(`${what} #${nth}`)) nth++;
    return `${what} #${nth}`;
  }

  /** Starts a conductor for a task: for the message in hand, or for a sweep or an audit. */
  async #start(task: string): Promise<void> {
    const { stores } = this.#recorded;
    const conductor: Task = await startTask({
      stores,
      now: () => this.#nowMs,
      pass: (step, effect) => this.#gate.pass(task, step, effect),
      atOnce: (what, effect) => this.#gate.atOnce(task, what, effect),
      select: (body) => selectDestinations(stores.placement, body, this.#nowMs),
      order: (host, message) => void this.#host(host).orders.push(message),
    });
    const message = this.#inHand.get(task);
    if (message === undefined) return conductor.doPeriodically(task as Periodic);
    void conductor
      .handle(message.queue)(incoming(message))
      .then((settlement) => this.#settle(task, settlement));
  }

  #end(task: string): void {
    this.#gate.end(task);
    this.#inHand.delete(task);
  }

  /** Nothing happens for long: conductors sweep overdue instances, and audit claims against records. */
  async #passTime(): Promise<void> {
    this.#nowMs += LONG_MS;
    this.#longTimes++;
    await this.#beginPeriodic('sweep');
  }

  /** A host's report that does not agree with the store, as a scheduler handles it. */
  #reportOf(host: string): void {
    const { tracked } = this.#host(host);
    const isClaimed = this.#claim !== undefined && Object.keys(this.#claim.allocations).map(hostOf).includes(host);
    const isRunning = tracked?.state === 'running';
    if (isClaimed === (tracked !== undefined) || (tracked !== undefined && !isRunning)) return;
    const { projectId = '', userId = '', name = '', requestId = '' } = this.#record ?? {};
    const who = { instanceUuid: UUID, projectId, userId, name, requestId, groupId: '' };
    const how = { attempt: tracked?.attempt ?? 0, claimToken: 0, allocationRequest: NO_BYTES, running: true };
    const running = { ...who, ...how, resources: { VCPU: 1 } };
    const sequence = Math.floor(this.#nowMs / LONG_MS);
    const when = { epoch: 0, position: 0, sequence, atMs: this.#nowMs };
    const about = { host, providerUuid: providerOf(host), serviceHost: host, ...when };
    const seen = { unclaimed: isRunning ? [running] : [], missing: isRunning ? [] : [UUID], present: [] };
    const body = hostDiscrepancyCodec.encode({ ...about, ...seen });
    this.#send(`report ${sequence} of ${host}`, BUILD_RESULTS.name, hostDiscrepancyCodec.type, body);
  }

  async #beginPeriodic(what: Periodic): Promise<void> {
    this.#gate.begin(what);
    await this.#start(what);
    await settled();
  }

  /** A sweep or an audit ends when no step of it waits. An audit follows each sweep; reports follow the last one. */
  async #endPeriodic(): Promise<void> {
    for (const what of PERIODIC) {
      if (!this.#gate.tasks.includes(what) || this.#gate.isWaiting(what)) continue;
      this.#end(what);
      if (what === 'sweep') await this.#beginPeriodic('audit');
      else if (this.#longTimes === MOST_LONG_TIMES) for (const { name } of this.#hosts) this.#reportOf(name);
    }
  }

  #checkDestroyed(host: string, attempt: number): void {
    const record = this.#record;
    const isWanted = record?.state === 'active' && record.host === host && attemptNumber(record) === attempt;
    if (isWanted) this.#problem = `it is ACTIVE on ${host} and was destroyed there`;
  }

  /** With nothing left to happen, record, claim and hosts agree. */
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

function isPause(name: string): boolean {
  return name.includes(PAUSE);
}

/** A redelivered message has a name of its own. */
function again(message: Queued): Queued {
  return { ...message, name: message.redelivered ? message.name : `${message.name}, again`, redelivered: true };
}

function incoming({ name, type, body, redelivered }: Queued): IncomingMessage {
  const none = {
    sender: '',
    identity: SERVICE,
    replyTo: undefined,
    correlationId: undefined,
    deadlineMs: undefined,
    isAborted: false,
    postponedForMs: 0,
  };
  return { type, body, redelivered, id: name, ...none, signal: new AbortController().signal };
}
