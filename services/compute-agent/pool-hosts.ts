import limitConcurrency from 'p-limit';
import type { Ring } from '#libs/ring/ring';
import type { CarryingRun, Hosting } from './agent-run';
import { MAX_OPENING_HOSTS, type ManagedHost } from './carried-hosts';
import type { Acquirer } from './holding/acquire-hosts';
import { noFormerRun } from './holding/former-run';
import { HostReports } from './host-reports';
import { keepMembership, type Membership } from './pool/membership';
import { readNodes } from './pool/node-store';
import type { SharedNodes } from './pool/shared-nodes';
import type { Reporter } from './reports/reporter';

/** The nodes of a pool that this run holds: those that the ring assigns to it. It starts as soon as it holds some. */
export class PoolHosts implements Hosting {
  readonly begun: Promise<void>;
  readonly failure = undefined;
  readonly #run: CarryingRun;
  readonly #shared: SharedNodes;
  readonly #reports: HostReports;
  readonly #takeTurn = limitConcurrency(MAX_OPENING_HOSTS);
  #acquirer: Acquirer | undefined;
  #membership: Membership | undefined;
  #someReported = () => {};

  constructor(run: CarryingRun, shared: SharedNodes, reporter: Reporter) {
    this.#run = run;
    this.#shared = shared;
    this.#reports = new HostReports(reporter);
    this.begun = new Promise((resolve) => {
      this.#someReported = resolve;
    });
  }

  begin(acquirer: Acquirer): void {
    this.#acquirer = acquirer;
    const { formerRun = noFormerRun } = this.#run;
    const onRing = (ring: Ring) => this.#onRing(ring);
    this.#membership = keepMembership({ ...this.#run, formerRun: formerRun.id ?? '', onRing });
  }

  async open(granted: readonly ManagedHost[]): Promise<void> {
    const { orders } = this.#run;
    const names = granted.map(({ lease }) => lease.host);
    const known = await readNodes(this.#run, names);
    const openOne = async (one: ManagedHost) => {
      try {
        await this.#shared.open(one, known.get(one.lease.host));
        if (one.host) await this.#reports.begin(one, one.host);
      } catch (error) {
        const fields = { event: 'node_not_opened', host: one.lease.host, error };
        this.#run.log.warn(fields, 'node not opened, retrying');
        await this.giveUp([one]);
      }
    };
    await Promise.all([orders.consume(), ...granted.map((one) => this.#takeTurn(() => openOne(one)))]);
    this.#someReported();
  }

  /** Stops the work on nodes, and releases them. */
  async giveUp(given: readonly ManagedHost[]): Promise<void> {
    for (const one of given) {
      one.lease.giveUp();
      this.#shared.close(one);
    }
    await Promise.all(given.map(({ closed }) => closed));
    await this.#acquirer?.release(given.map(({ lease }) => lease.host));
  }

  lose(one: ManagedHost): void {
    this.#shared.close(one);
  }

  /** The nodes held do not matter: another agent of the pool may keep some for a while. */
  whyNotReady(): string | undefined {
    return this.#membership?.ring ? undefined : 'not a member of the pool yet';
  }

  stop(): void {
    this.#membership?.stop();
  }

  /** Work on nodes stops here before another agent continues it. */
  async leave(): Promise<void> {
    const { carried } = this.#run;
    for (const one of carried) this.#shared.close(one);
    await Promise.all(carried.map(({ closed }) => closed));
    await this.#membership?.leave();
  }

  #onRing(ring: Ring): void {
    const { orders, carried, counters, log } = this.#run;
    this.#shared.setRing(ring);
    // An agent without nodes still takes orders: their senders must learn that it does not have the node.
    if (!orders.isConsuming) void orders.declare().then(() => orders.consume());
    const given = this.#shared.toGiveUp(carried);
    counters.nodesGivenUp.inc(given.length);
    if (given.length > 0) {
      log.info({ event: 'nodes_given_up', node_count: given.length }, 'nodes released to other agents of the pool');
      void this.giveUp(given);
    }
    this.#acquirer?.askSoon();
  }
}
