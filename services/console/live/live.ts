import type { Bus } from '#libs/bus/port';
import { DEAD_LETTERS } from '#libs/bus/port';
import type { Client } from '#libs/client/client';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Host } from '#libs/domain/host';
import type { InstanceState } from '#libs/domain/instance';
import type { Doubt } from '#libs/instances/doubts';
import type { InstanceStore } from '#libs/instances/store';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Log } from '#libs/runtime/log';
import type { Running } from '#libs/runtime/service';
import type { Drains } from '../actions/drains';
import type { OperatorActions } from '../actions/operator-actions';
import type { Shell } from '../api/stream';
import type { ConsoleConfig } from '../options';
import type { Rehearsals } from '../rehearsals/rehearsals';
import { BuildFigures } from './build-figures';
import { FleetFeed } from './fleet-feed';
import { History } from './history';
import { InstanceNames } from './instance-names';
import { type Beat, Pulse } from './pulse';

export interface LiveParts {
  readonly mirror: PlacementView & Pick<Running, 'readiness'>;
  readonly instances: InstanceStore;
  /** For the part that the mirror omits. */
  readonly placement: Pick<
    PlacementStore,
    'reported' | 'heardAt' | 'processes' | 'identify' | 'decision' | 'recentDecisions'
  >;
  readonly bus: Bus;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: ConsoleConfig;
  readonly drains: Drains;
  readonly actions: OperatorActions;
  readonly rehearsals: Rehearsals;
}

/** Interval of reading data that neither events nor the mirror cover. */
const POLL_MS = 2_000;
/** The name by which a scheduler for Nova announces itself. */
export const NOVA_SCHEDULER = 'nova-scheduler';
/** Minimum interval of counting instances. */
const STATES_MS = 1_000;

/** The current data of all pages, with notifications of changes. */
export class Live {
  readonly fleet: FleetFeed;
  readonly builds: BuildFigures;
  readonly names = new InstanceNames();
  readonly history: History;
  readonly pulse: Pulse;
  doubts: readonly Doubt[] = [];
  pendingCount = 0;
  deadLetterCount = -1;
  #hasNova = false;
  readonly #fleetListeners = new Set<(change: string) => void>();
  readonly #closing = new AbortController();
  readonly #polling: Promise<unknown>;
  #storeProblem = '';
  #states: { readonly atMs: number; readonly counts: Promise<ReadonlyMap<InstanceState, number>> } | undefined;
  /** Hosts with changed marks, which the mirror does not show. */
  #marked = new Set<string>();

  constructor(readonly parts: LiveParts) {
    const { mirror, clock, config, drains } = parts;
    this.builds = new BuildFigures(clock);
    this.fleet = new FleetFeed(mirror, {
      isDraining: ({ name, enabled }: Host) => drains.isDraining(name) || (!enabled && this.builds.isMovingFrom(name)),
      isDoubtful: (name) => this.doubts.some(({ host }) => host === name),
    });
    this.history = new History({ clock, stepMs: config.historyStepMs, points: config.historyPoints });
    this.pulse = new Pulse({ ...parts, view: mirror });
    this.pulse.onBeat((beat) => this.#take(beat));
    drains.onChange((host) => this.#mark(host));
    this.#polling = Promise.all([this.#poll(), this.#sample()]);
  }

  /** The store's instances by state; at most one reading in a while, however many pages ask. */
  states(): Promise<ReadonlyMap<InstanceState, number>> {
    const nowMs = this.clock.elapsed();
    if (this.#states === undefined || nowMs - this.#states.atMs >= STATES_MS) {
      this.#states = { atMs: nowMs, counts: this.parts.instances.countStates() };
    }
    return this.#states.counts;
  }

  get clock(): Clock {
    return this.parts.clock;
  }

  shell(): Shell {
    const { clock, drains, mirror } = this.parts;
    return {
      nowMs: clock.now(),
      hosts: this.fleet.counts(),
      instances: [...this.fleet.rows.values()].reduce((sum, { instances }) => sum + instances, 0),
      pending: this.pendingCount,
      stale: this.#staleness(mirror),
      drains: drains.list(),
      hasNova: this.#hasNova,
    };
  }

  /**
   * Calls back with each change of the fleet, as JSON; `all` when everything must be read again. Returns the
   * unsubscription.
   */
  onFleet(listener: (change: string) => void): () => void {
    this.#fleetListeners.add(listener);
    return () => this.#fleetListeners.delete(listener);
  }

  /** Calls back at an interval. Returns the unsubscription. */
  every(intervalMs: number, action: () => void): () => void {
    let cancel = () => {};
    const next = () => {
      cancel = this.clock.after(intervalMs, () => {
        action();
        next();
      });
    };
    next();
    return () => cancel();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.pulse.close(), this.#polling]);
  }

  #take(beat: Beat): void {
    for (const event of beat.events) {
      this.builds.take(event);
      this.names.take(event);
      // A move begins or ends: the host's draining mark may change.
      if (event.host !== '' && this.parts.mirror.host(event.host)?.enabled === false) this.#marked.add(event.host);
    }
    this.#publishFleet(beat);
  }

  #mark(host: string): void {
    this.#marked.add(host);
    this.#publishFleet({ roots: new Set(), events: [] });
  }

  #publishFleet(beat: Beat): void {
    const change = this.fleet.take(beat, this.#marked);
    this.#marked = new Set();
    if (change === undefined || this.#fleetListeners.size === 0) return;
    const told = change === 'all' ? 'all' : JSON.stringify(change);
    for (const listener of this.#fleetListeners) listener(told);
  }

  async #poll(): Promise<void> {
    const { instances, bus } = this.parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const doubts = await instances.listDoubts();
        for (const { host } of [...this.doubts, ...doubts]) this.#marked.add(host);
        this.doubts = doubts;
        this.pendingCount = await instances.countPending();
        await this.names.read(instances);
        this.#storeProblem = '';
      } catch (thrown) {
        this.#storeProblem = BerthError.from(thrown).message;
      }
      this.#hasNova = await hasNova(this.parts).catch(() => this.#hasNova);
      this.deadLetterCount = await bus.depth(DEAD_LETTERS).catch(() => -1);
      if (this.#marked.size > 0) this.#publishFleet({ roots: new Set(), events: [] });
      await sleep(this.clock, POLL_MS, signal);
    }
  }

  async #sample(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.history.sample(this.fleet.classes, this.fleet.rows.values());
      await sleep(this.clock, this.parts.config.historyStepMs, signal);
    }
  }

  #staleness(mirror: LiveParts['mirror']): string {
    const readiness = mirror.readiness();
    const problem = readiness.ready ? this.#storeProblem : readiness.reason;
    if (problem !== '') return `The fleet is shown as it was last read (${problem}).`;
    return this.parts.bus.isConnected() ? '' : 'The broker is unavailable: builds are shown as they were last heard.';
  }
}

/** True where a scheduler for Nova runs, or is said to. */
async function hasNova({ config, placement }: LiveParts): Promise<boolean> {
  if (config.novaShadowUrl !== '') return true;
  return (await placement.processes()).some(({ service }) => service === NOVA_SCHEDULER);
}
