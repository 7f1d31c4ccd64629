import { drop, type IncomingMessage, type Settlement } from '#libs/bus/port';
import { buildInstanceCodec, destroyInstanceCodec } from '#libs/contracts/compute';
import type { BuildInstance } from '#libs/contracts/messages';
import { unknownType } from '#libs/contracts/rpc';
import { handle } from './handle';
import { createHost, type Host, type HostParts } from './host';
import type { Carried } from './ledger';
import { lose } from './lose';
import { OrderQueue } from './order-queue';
import type { HostReporter, Reporter } from './reporter';
import { ioOpsOf, othersAmong, statsOf } from './stats';
import { takeBuild } from './take-build';
import { takeDestroy } from './take-destroy';

/**
 * The life of one host: it finds what it carried before, makes itself known, takes builds and destroys from its queue,
 * and reports both ways.
 *
 * The order of each build is: hold the resources, note it, build, note that it runs, report (confirmed), ack. Whatever
 * dies in between, the message comes again and finds the instance where it was. A destroy ends the build it meets, and is
 * remembered, so that a build which comes after its own destroy is not built. Work on one instance never overlaps: a
 * build waits for a destroy of the same instance, a destroy for the build that it cancelled.
 */
export class HostAgent {
  readonly #host: Host;
  readonly #givingUp = new AbortController();
  readonly #queue: OrderQueue;
  /** Instances lost and not yet told. */
  readonly #losses = new Set<Promise<void>>();
  #reports: HostReporter | undefined;

  constructor(parts: HostParts) {
    this.#host = createHost(parts, this.#givingUp.signal);
    this.#queue = new OrderQueue(this.#host, parts.facts.name);
    parts.driver.onExit((uuid, why) => this.#onExit(uuid, why));
  }

  /** Finds what it carried before: adopts what runs, ends what was half done, reports what is lost. */
  async recover(remembered: readonly Carried[]): Promise<void> {
    const { driver, journal, ledger, log, facts } = this.#host;
    const running = new Set((await driver.list()).map(({ id }) => id));
    for (const carried of remembered) {
      const fields = { host: facts.name, instance_uuid: carried.uuid, request_id: carried.requestId };
      if (carried.state !== 'running') {
        // Its message was not acked, so it comes again.
        await driver.destroy(carried.uuid);
        await journal.remove(carried.uuid);
        log.info(fields, `ended what was left of an instance that was ${carried.state}`);
      } else if (running.has(carried.uuid)) {
        ledger.put(carried);
        log.info(fields, 'found the instance running');
      } else {
        this.#lose(carried, 'it stopped while the agent was away');
      }
    }
    await this.#lookAround();
  }

  /**
   * Has a queue first, so that whoever hears of the host can give it orders; reports, so that the fleet knows it; then
   * takes work. Resolves once it does.
   */
  async begin(reporter: Reporter): Promise<void> {
    const { config, facts, driver, ledger } = this.#host;
    const stats = async () => {
      await this.#lookAround();
      return statsOf(facts, driver, ledger, this.#host.others);
    };
    await this.#queue.declare();
    const reports = reporter.add(facts.name, stats, () => ioOpsOf(ledger));
    this.#reports = reports;
    this.#host.changed = () => reports.changed();
    await reports.first;
    await this.#queue.begin((message) => this.#take(message), config.prefetch);
  }

  get name(): string {
    return this.#host.facts.name;
  }

  get isTakingWork(): boolean {
    return this.#queue.isTakingWork;
  }

  /** A build out of its queue, or out of the queue that it shares. */
  build(build: BuildInstance): Promise<Settlement> {
    return takeBuild(this.#host, build);
  }

  /**
   * Takes no more work, finishes builds until patience aborts, hands back the rest. `shared` resolves when what came by
   * the shared queue is settled, too.
   */
  async stopWork(patience: AbortSignal, shared: Promise<void>): Promise<void> {
    const giveUp = () => this.#givingUp.abort();
    if (patience.aborted) giveUp();
    else patience.addEventListener('abort', giveUp, { once: true });
    this.#host.builds.drain(patience);
    await Promise.all([this.#queue.cancel(), shared]);
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
        return handle(message, buildInstanceCodec, (build) => this.build(build));
      case destroyInstanceCodec.type:
        return handle(message, destroyInstanceCodec, (destroy) => takeDestroy(this.#host, destroy));
      default:
        return drop(unknownType(message));
    }
  }

  #onExit(uuid: string, why: string): void {
    const { ledger } = this.#host;
    const carried = ledger.get(uuid);
    if (carried?.state !== 'running') return;
    ledger.remove(uuid);
    this.#host.changed();
    this.#lose(carried, why);
  }

  #lose(carried: Carried, why: string): void {
    const telling = lose(this.#host, carried, why).finally(() => this.#losses.delete(telling));
    this.#losses.add(telling);
  }

  async #lookAround(): Promise<void> {
    const { driver, ledger, destroyed } = this.#host;
    const found = await driver.list();
    const isOwn = (id: string) => ledger.get(id) !== undefined || destroyed.attemptOf(id) > 0;
    this.#host.others = othersAmong(found, isOwn, driver.capacity().inventories);
  }
}
