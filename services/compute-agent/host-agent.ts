import { ACK, type Bus, drop, type IncomingMessage, REQUEUE, type Settlement, type Subscription } from '#libs/bus/port';
import { buildInstanceCodec, buildReportCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import type { BuildInstance, BuildReport, DestroyInstance } from '#libs/contracts/messages';
import { castTyped, unknownType } from '#libs/contracts/rpc';
import { agentQueue, agentSender, BUILD_RESULTS } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import type { Surroundings } from '#libs/runtime/service';
import { type BuildEnd, carriedAs, createBuilds } from './builds';
import { createDestroyed } from './destroyed';
import type { Driver } from './drivers/driver';
import { judgeBuild } from './instance-claim';
import type { Journal } from './journal';
import { type Carried, createLedger } from './ledger';
import type { AgentMetrics } from './metrics';
import type { AgentConfig } from './options';
import type { HostReporter, Reporter } from './reporter';
import { untilDone } from './retry';
import { type HostFacts, type Others, othersAmong, statsOf } from './stats';

/** What one host of an agent is made of. */
export interface HostParts extends Surroundings {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly facts: HostFacts;
  readonly driver: Driver;
  readonly journal: Journal;
  readonly reporter: Reporter;
  readonly counts: AgentMetrics;
}

/** What a report says besides which attempt of which instance it is about. */
type Verdict = Pick<BuildReport, 'outcome'> & { readonly reason?: string; readonly message?: string };

/**
 * One host: takes builds and destroys from its queue, keeps its own truth of what it carries, and reports both ways.
 *
 * The order of each build is: hold the resources, note it, build, note that it runs, report (confirmed), ack. Whatever
 * dies in between, the message comes again and finds the instance where it was. A destroy ends the build it meets, and is
 * remembered, so that a build which comes after its own destroy is not built. Work on one instance never overlaps: a
 * build waits for a destroy of the same instance, a destroy for the build that it cancelled.
 */
export class HostAgent {
  readonly #parts: HostParts;
  readonly #ledger = createLedger();
  readonly #destroyed;
  readonly #builds;
  /** Destroys going on, by uuid. */
  readonly #ending = new Map<string, Promise<unknown>>();
  /** Reports of lost instances, going on. */
  readonly #losses = new Set<Promise<unknown>>();
  /** Ends what would be tried for ever. */
  readonly #givingUp = new AbortController();
  #others: Others = { count: 0, usage: {} };
  #reports: HostReporter | undefined;
  #subscription: Subscription | undefined;

  constructor(parts: HostParts) {
    this.#parts = parts;
    const { driver, journal, clock, config, counts } = parts;
    this.#destroyed = createDestroyed(clock);
    this.#builds = createBuilds({ driver, ledger: this.#ledger, journal, clock, maxBuilds: config.maxBuilds });
    counts.watch(this.#ledger);
    driver.onExit((uuid, why) => this.#onExit(uuid, why));
  }

  /** Finds what it carried before: adopts what runs, ends what was half done, reports what is lost. */
  async recover(remembered: readonly Carried[]): Promise<void> {
    const { driver, journal, log, facts } = this.#parts;
    const running = new Set((await driver.list()).map(({ id }) => id));
    for (const carried of remembered) {
      const fields = { host: facts.name, instance_uuid: carried.uuid, request_id: carried.requestId };
      if (carried.state !== 'running') {
        // Its message was not acked, so it comes again.
        await driver.destroy(carried.uuid);
        await journal.remove(carried.uuid);
        log.info(fields, `ended what was left of an instance that was ${carried.state}`);
      } else if (running.has(carried.uuid)) {
        this.#ledger.put(carried);
        log.info(fields, 'found the instance running');
      } else {
        this.#lose(carried, 'it stopped while the agent was away');
      }
    }
    await this.#lookAround();
  }

  /** Reports first, so that the fleet knows the host, and then takes work. Resolves once it does. */
  async begin(): Promise<void> {
    const { bus, config, clock, log, facts, reporter } = this.#parts;
    this.#reports = reporter.add(facts.name, async () => {
      await this.#lookAround();
      return statsOf(facts, this.#parts.driver, this.#ledger, this.#others);
    });
    await this.#reports.first;
    const consume = async () => {
      const options = { prefetch: config.prefetch };
      const subscription = await bus.consume(agentQueue(facts.name), (message) => this.#take(message), options);
      if (this.#givingUp.signal.aborted) await subscription.cancel();
      else this.#subscription = subscription;
    };
    await untilDone(consume, {
      clock,
      maxMs: config.retryMaxMs,
      signal: this.#givingUp.signal,
      onFailure: (error) => log.warn({ host: facts.name, error }, 'can not take work yet; tries again'),
    });
  }

  get isTakingWork(): boolean {
    return this.#subscription !== undefined;
  }

  /** Takes no more work, finishes builds until patience aborts, hands back the rest. */
  async stopWork(patience: AbortSignal): Promise<void> {
    const giveUp = () => this.#givingUp.abort();
    if (patience.aborted) giveUp();
    else patience.addEventListener('abort', giveUp, { once: true });
    this.#builds.drain(patience);
    await this.#subscription?.cancel();
    giveUp();
    await Promise.all(this.#losses);
  }

  /** Reports what it carries at the end. Never rejects. */
  async reportLast(): Promise<void> {
    await this.#reports?.last();
  }

  async #take(message: IncomingMessage): Promise<Settlement> {
    switch (message.type) {
      case buildInstanceCodec.type:
        return this.#decoded(message, buildInstanceCodec.decode, (build) => this.#build(build));
      case destroyInstanceCodec.type:
        return this.#decoded(message, destroyInstanceCodec.decode, (destroy) => this.#destroy(destroy));
      default:
        return drop(unknownType(message));
    }
  }

  async #decoded<T>(
    message: IncomingMessage,
    decode: (body: Uint8Array) => T,
    handle: (value: T) => Promise<Settlement>,
  ) {
    let value: T;
    try {
      value = decode(message.body);
    } catch (thrown) {
      return drop(BerthError.from(thrown));
    }
    return handle(value);
  }

  async #build(build: BuildInstance): Promise<Settlement> {
    const { clock, facts, driver, counts, log } = this.#parts;
    const uuid = build.instanceUuid;
    await this.#ended(uuid);
    const judgement = judgeBuild(build, this.#ledger.get(uuid), this.#destroyed.attemptOf(uuid), {
      host: facts.name,
      inventories: driver.capacity().inventories,
      used: this.#ledger.used(),
      external: this.#others.usage,
      nowMs: clock.now(),
    });
    switch (judgement.kind) {
      case 'ignore':
        log.debug(this.#fields(build), 'ignored an attempt older than the one that is here');
        return ACK;
      case 'ended':
        return this.#answer(build, DESTROYED);
      case 'refuse': {
        const { reason, message } = judgement;
        counts.refusals.inc({ reason });
        log.info({ ...this.#fields(build), reason }, message);
        return this.#answer(build, { outcome: 'refused', reason, message });
      }
      case 'join':
        return this.#answerEnd(build, await this.#join(build, judgement.carried));
      case 'build':
        return this.#answerEnd(build, await this.#timed(build));
    }
  }

  /** The instance is here, by this attempt or one before it: from now on it is this one's. */
  async #join(build: BuildInstance, carried: Carried): Promise<BuildEnd> {
    const adopted = { ...carriedAs(build, carried.state), resources: carried.resources };
    this.#ledger.put(adopted);
    this.#builds.extend(build.instanceUuid, build.deadlineAtMs);
    const underWay = this.#builds.underWay(build.instanceUuid);
    if (underWay) return underWay;
    await this.#parts.journal.put(adopted);
    return { kind: 'active' };
  }

  async #timed(build: BuildInstance): Promise<BuildEnd> {
    const { clock, counts, log } = this.#parts;
    const startedAtMs = clock.now();
    const running = this.#builds.run(build);
    this.#reports?.changed();
    const end = await running;
    this.#reports?.changed();
    counts.builds.inc({ outcome: end.kind });
    counts.buildSeconds.observe({ outcome: end.kind }, (clock.now() - startedAtMs) / 1000);
    if (end.kind === 'failed') log.warn({ ...this.#fields(build), error: end.error }, 'build failed');
    else log.debug({ ...this.#fields(build), outcome: end.kind }, 'build ended');
    return end;
  }

  async #answerEnd(build: BuildInstance, end: BuildEnd): Promise<Settlement> {
    switch (end.kind) {
      case 'active':
        return this.#answer(build, { outcome: 'active' });
      case 'failed':
        return this.#answer(build, { outcome: 'failed', reason: end.error.reason, message: end.error.message });
      case 'destroyed':
        return this.#answer(build, DESTROYED);
      case 'handed_back':
        return REQUEUE;
    }
  }

  async #destroy(destroy: DestroyInstance): Promise<Settlement> {
    const { counts, log, facts, config, clock, driver, journal } = this.#parts;
    const { instanceUuid: uuid, attempt, report } = destroy;
    await this.#ended(uuid);
    const carried = this.#ledger.get(uuid);
    const isNewer = carried !== undefined && attempt !== 0 && carried.attempt > attempt;
    const target = { instanceUuid: uuid, attempt: attempt || (carried?.attempt ?? 0), alternates: [] };
    const answer = () =>
      report ? this.#answer({ ...target, claimRevision: carried?.claimRevision ?? 0 }, DESTROYED) : ACK;
    if (isNewer) return answer();

    this.#destroyed.note(uuid, attempt === 0 ? (carried?.attempt ?? Number.POSITIVE_INFINITY) : attempt);
    const end = async () => {
      await this.#builds.cancel(uuid);
      if (carried) this.#ledger.put({ ...carried, state: 'destroying' });
      await driver.destroy(uuid);
      await journal.remove(uuid);
      this.#ledger.remove(uuid);
    };
    const isDone = await this.#alone(uuid, () =>
      untilDone(end, {
        clock,
        maxMs: config.retryMaxMs,
        signal: this.#givingUp.signal,
        onFailure: (error) => log.warn({ host: facts.name, instance_uuid: uuid, error }, 'destroy failed; tries again'),
      }),
    );
    this.#reports?.changed();
    if (!isDone) return REQUEUE;
    counts.destroys.inc();
    log.debug({ host: facts.name, instance_uuid: uuid, attempt }, 'destroyed');
    return answer();
  }

  #onExit(uuid: string, why: string): void {
    const carried = this.#ledger.get(uuid);
    if (carried?.state !== 'running') return;
    this.#ledger.remove(uuid);
    this.#lose(carried, why);
    this.#reports?.changed();
  }

  /** Tells that an instance stopped by itself. It stays in the journal until that is told. */
  #lose(carried: Carried, why: string): void {
    const { log, driver, journal, counts, facts } = this.#parts;
    const { uuid, attempt, claimRevision } = carried;
    log.warn({ host: facts.name, instance_uuid: uuid, request_id: carried.requestId, why }, 'instance lost');
    counts.builds.inc({ outcome: 'lost' });
    this.#destroyed.note(uuid, attempt);
    const tell = async () => {
      await this.#alone(uuid, () => driver.destroy(uuid));
      const target = { instanceUuid: uuid, attempt, claimRevision, alternates: [] };
      const settled = await this.#answer(target, { outcome: 'lost', reason: 'exited', message: why });
      if (settled.kind === 'ack') await journal.remove(uuid);
    };
    const telling = tell()
      .catch((error: unknown) => log.error({ host: facts.name, instance_uuid: uuid, error }, 'loss not told'))
      .finally(() => this.#losses.delete(telling));
    this.#losses.add(telling);
  }

  /** Reports to the conductors; the message in hand is settled only when the broker has the report. */
  async #answer(about: Omit<BuildReport, 'host' | keyof Verdict>, verdict: Verdict): Promise<Settlement> {
    const { bus, facts, clock, config, log } = this.#parts;
    const report: BuildReport = {
      instanceUuid: about.instanceUuid,
      host: facts.name,
      attempt: about.attempt,
      claimRevision: about.claimRevision,
      alternates: about.alternates,
      reason: '',
      message: '',
      ...verdict,
    };
    const sender = agentSender(facts.name);
    const isTold = await untilDone(() => castTyped(bus, BUILD_RESULTS.name, buildReportCodec, report, { sender }), {
      clock,
      maxMs: config.retryMaxMs,
      signal: this.#givingUp.signal,
      onFailure: (error) => log.warn({ ...this.#fields(about), error }, 'a build report waits for the broker'),
    });
    return isTold ? ACK : REQUEUE;
  }

  /** Does something to an instance that nothing else may overlap. */
  async #alone<T>(uuid: string, action: () => Promise<T>): Promise<T> {
    const going = action();
    this.#ending.set(uuid, going);
    try {
      return await going;
    } finally {
      this.#ending.delete(uuid);
    }
  }

  /** Resolves when no destroy of the instance goes on. */
  async #ended(uuid: string): Promise<void> {
    for (let going = this.#ending.get(uuid); going; going = this.#ending.get(uuid)) {
      await going.catch(() => undefined);
    }
  }

  async #lookAround(): Promise<void> {
    const { driver } = this.#parts;
    const found = await driver.list();
    const isOwn = (id: string) => this.#ledger.get(id) !== undefined || this.#destroyed.attemptOf(id) > 0;
    this.#others = othersAmong(found, isOwn, driver.capacity().inventories);
  }

  #fields(about: { readonly instanceUuid: string; readonly requestId?: string; readonly attempt: number }) {
    const { instanceUuid: instance_uuid, requestId: request_id, attempt } = about;
    return { host: this.#parts.facts.name, instance_uuid, request_id, attempt };
  }
}

const DESTROYED: Verdict = {
  outcome: 'destroyed',
  reason: 'destroyed',
  message: 'the instance was destroyed as told',
};
