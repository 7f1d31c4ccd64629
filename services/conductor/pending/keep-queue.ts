import { requestSpecCodec } from '#libs/contracts/request-spec';
import { sleep } from '#libs/domain/clock';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Pending } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { type Fault, lookAt } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { preempt } from './preempt';
import { couldHelp, peerOfGroup, ReliefWatch } from './relief';
import type { WaitingRequest } from './waiting-request';

/** The lease of the conductor that keeps the queue. */
export const PENDING_LEASE = 'pending';
/** Longer than a turn takes; when its holder dies, nobody is tried for so long. */
const LEASE_MS = 10_000;

/**
 * Gives those who wait for capacity their turns, until the conductor stops. One conductor does, by lease; two at once, when
 * one stood still, would do no harm.
 *
 * The naive way is to ask a scheduler for all who wait, now and then: with ten thousand of them that takes a minute, in
 * which most are refused again for the same reason, and what was freed stands idle. So, while anybody waits, the keeper
 * follows the store's changes, and what they made better opens only the *shapes* of requests that could fit by it. Of a
 * shape one is tried at a time, in order; the first that is refused closes the shape, for the others would be refused alike.
 * So a turn costs by what was freed and by the number of shapes, not by how many wait. An instance that waits for a preemption
 * blocks nobody: the capacity is nominated for it, so those behind it get other capacity. (Kubernetes' queueing
 * hints, and its scheduling equivalence classes.) A scheduler must have seen the change that opened the shape. Changes of
 * time alone (a quarantine that ends) are found by trying everybody once in a while.
 */
export async function keepQueue(c: Conductor, holder: string): Promise<void> {
  while (!c.stopping.aborted) {
    const isHolder = await takeLease(c, holder).catch(() => false);
    if (isHolder) await new QueueKeeper(c, holder).run();
    else await sleep(c.clock, c.config.pendingIntervalMs * (0.75 + c.random.next() / 2), c.stopping);
  }
}

/** Has the queue ordered by the newest shares, while anybody waits. */
export async function weighQueue(c: Conductor): Promise<void> {
  if (c.pending.isEmpty) return;
  await c.shares.refresh(c);
  c.pending.weigh(c.shares.newest);
}

async function takeLease(c: Conductor, holder: string): Promise<boolean> {
  return (await c.leases.acquire(PENDING_LEASE, holder, LEASE_MS)) !== undefined;
}

/** State of the requests of one shape. */
interface Shape {
  /** One of them is to be tried. */
  isOpen: boolean;
  waitsFor: readonly string[];
  /** The instances that its requests want to be with or away from, and their group. */
  readonly peers: ReadonlySet<string>;
  /** Why the last of them was refused. */
  fault: Fault | undefined;
  triedAtMs: number;
}

function newShape(requestSpec: Uint8Array, nowMs: number): Shape {
  const { sameHost, differentHost, group, projectId } = requestSpecCodec.decode(requestSpec);
  const groups = group === undefined ? [] : [peerOfGroup(projectId, group.id)];
  const peers = new Set([...sameHost, ...differentHost, ...groups]);
  return { isOpen: true, waitsFor: [], peers, fault: undefined, triedAtMs: nowMs };
}

/** State of following the changes. */
interface Following {
  readonly stop: AbortController;
  readonly done: Promise<void>;
  isBroken: boolean;
}

/** The queue while one conductor keeps it. */
class QueueKeeper {
  readonly #watch = new ReliefWatch();
  readonly #shapes = new Map<string, Shape>();
  #following: Following | undefined;

  constructor(
    private readonly c: Conductor,
    private readonly holder: string,
  ) {}

  /** Until the lease is lost, the store is away or the conductor stops. */
  async run(): Promise<void> {
    const { c } = this;
    try {
      while (!c.stopping.aborted && (await takeLease(c, this.holder))) {
        await c.pending.refresh();
        await weighQueue(c);
        // Changes are many; where nobody waits, nobody reads them.
        if (c.pending.requests().length === 0) await this.#unfollow();
        else await this.#follow();
        await this.#turns();
        await sleep(c.clock, c.config.pendingIntervalMs, c.stopping);
      }
    } catch (thrown) {
      const { reason } = BerthError.from(thrown);
      c.log.info({ event: 'pending_queue_interrupted', reason }, 'the queue of pending instances is interrupted');
      await sleep(c.clock, c.config.pendingIntervalMs, c.stopping);
    } finally {
      // The next holder of the queue shows who waits.
      this.#measure([]);
      await this.#unfollow();
    }
  }

  #measure(requests: readonly WaitingRequest[]): void {
    const { measured, clock } = this.c;
    measured.pending.set(requests.reduce((sum, { uuids }) => sum + uuids.length, 0));
    const oldestMs = requests.reduce((oldest, { arrivedAtMs }) => Math.min(oldest, arrivedAtMs), clock.now());
    measured.pendingAge.set((clock.now() - oldestMs) / 1_000);
  }

  /** Follows the store's changes from now on, unless that is done already: what came before may have helped anybody. */
  async #follow(): Promise<void> {
    if (this.#following && !this.#following.isBroken) return;
    await this.#unfollow();
    const { placement, stopping } = this.c;
    const revision = await placement.revision();
    this.#watch.missed(revision);
    // Node 20 keeps what `AbortSignal.any` makes, and listeners with the option `signal`, when nobody needs them any more.
    const stop = new AbortController();
    const onStopping = () => stop.abort();
    stopping.addEventListener('abort', onStopping, { once: true });
    const onChanges: Parameters<typeof placement.follow>[1] = (changes) => {
      for (const change of changes) this.#watch.see(change);
    };
    const following = placement.follow(revision, onChanges, stop.signal);
    const done = following
      .catch(() => {
        if (this.#following) this.#following.isBroken = true;
      })
      .finally(() => stopping.removeEventListener('abort', onStopping));
    this.#following = { stop, done, isBroken: false };
  }

  async #unfollow(): Promise<void> {
    const following = this.#following;
    this.#following = undefined;
    following?.stop.abort();
    await following?.done;
  }

  async #turns(): Promise<void> {
    const { c } = this;
    const requests = c.pending.requests();
    this.#measure(requests);
    this.#openShapes(requests);
    if (requests.length === 0) return;
    let [tries, looks] = [0, 0];
    for (const request of requests) {
      if (c.stopping.aborted || tries >= c.config.pendingTries) return;
      const shape = this.#shapes.get(request.shape);
      if (shape === undefined) continue;
      // Waiting for a preemption costs reads, not a scheduler: it uses no try.
      if (request.preempts && looks++ >= c.config.pendingTries) continue;
      if (!shape.isOpen && !request.preempts) {
        if (!request.isTold) tries += await this.#tell(request, shape);
        continue;
      }
      if ((await this.#turnOf(request, shape)) === 'tried') tries++;
    }
  }

  /** Those that something could have helped since, those that are new, and those whose time has come. */
  #openShapes(requests: readonly WaitingRequest[]): void {
    const { c } = this;
    const relief = this.#watch.take();
    const nowMs = c.clock.elapsed();
    const present = new Set(requests.map(({ shape }) => shape));
    for (const key of this.#shapes.keys()) if (!present.has(key)) this.#shapes.delete(key);
    for (const { shape: key, requestSpec } of requests) {
      const shape = this.#shapes.get(key);
      if (shape === undefined) this.#shapes.set(key, newShape(requestSpec, nowMs));
      else if (relief === 'all' || (relief && couldHelp(relief, shape.waitsFor, shape.peers))) shape.isOpen = true;
      else if (nowMs - shape.triedAtMs >= c.config.pendingRetryMs) shape.isOpen = true;
    }
  }

  async #turnOf(request: WaitingRequest, shape: Shape): Promise<'is making room' | 'tried'> {
    const { c } = this;
    const pending = await this.#pendingOf(request);
    const uncertain = await c.hearing.uncertainAmong(c, pending);
    const waiting = pending.filter(({ uuid }) => !uncertain.has(uuid));
    if (waiting.length === 0) return 'tried';
    const preemptor = waiting.find((record) => record.waiting.preemption !== undefined);
    if (preemptor && !(await preempt(c, preemptor))) return 'is making room';
    c.measured.pendingTries.inc();
    const observed = { kind: 'capacity_changed', revision: this.#watch.revision } as const;
    await reconcileLoop(
      c,
      waiting.map((record) => lookAt(record, observed)),
    ).catch((thrown: unknown) => this.#failed(request, BerthError.from(thrown)));
    shape.triedAtMs = c.clock.elapsed();
    const [still] = await this.#pendingOf(request);
    // Whoever was to make room, and has, leaves it to be tried again.
    if (still === undefined || preemptor) return 'tried';
    shape.isOpen = false;
    shape.waitsFor = still.waiting.waitsFor;
    shape.fault = still.fault;
    return 'tried';
  }

  /** An unavailable dependency interrupts the queue; an error of one request does not hold up the others. */
  #failed({ requestId }: WaitingRequest, error: BerthError): void {
    if (isRetryable(error) || error.code === 'resource_exhausted') throw error;
    const fields = { event: 'pending_not_tried', err: error, request_id: requestId };
    this.c.log.warn(fields, 'pending request not tried, retrying later');
  }

  /** One that came while its shape was closed is refused as the last of them was. Answers how many it told. */
  async #tell(request: WaitingRequest, { fault, waitsFor }: Shape): Promise<number> {
    if (fault === undefined || waitsFor.length === 0) return 0;
    const observed = { kind: 'no_host', fault, waitsFor, passedOver: [] } as const;
    const untold = await this.#pendingOf(request);
    await reconcileLoop(
      this.c,
      untold.map((record) => lookAt(record, observed)),
    );
    await this.#pendingOf(request);
    return 1;
  }

  /** Those of a request that still wait. */
  async #pendingOf({ uuids }: WaitingRequest): Promise<Pending[]> {
    const records = await this.c.instances.get(uuids);
    for (const record of records) this.c.pending.note(record);
    return records.filter((record) => record.state === 'pending');
  }
}
