import { type Clock, sleep } from '../../domain/clock';
import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { Aggregate } from '../../domain/grouping/aggregate';
import type { AdmissionTurn, Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Resources } from '../../domain/inventory';
import { type Provider, SHARING_TRAIT } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation } from '../../domain/queueing/reservation';
import type { Random } from '../../domain/random';
import type { StoredGroup } from '../../domain/server-group';
import {
  isStandardResourceClass,
  isStandardTrait,
  STANDARD_RESOURCE_CLASSES,
  STANDARD_TRAITS,
} from '../../domain/standard-names';
import { type BackoffLimits, backoffMs } from '../../runtime/backoff';
import type { Log } from '../../runtime/log';
import type { Running } from '../../runtime/service';
import type { CatalogueName, Change, PlacementStore, Revised, Rows } from '../port/placement-store';
import type { Changed, PlacementView } from '../port/placement-view';
import { MirrorState } from './mirror-state';
import type { ProjectIndex } from './project-index';
import { RevisionWaiters } from './revision-waiters';
import type { VersionedRows } from './versioned-rows';

export interface MirrorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Stops waiting for the first snapshot. */
  readonly signal?: AbortSignal;
}

type Listener = (changed: Changed | 'all') => void;

/** All that changes what a mirror shows, in order: whoever does the same to the rows that it showed before, sees the same. */
export type MirrorInput =
  | { readonly kind: 'stream'; readonly changes: readonly Change[] }
  | { readonly kind: 'applied'; readonly change: Change }
  | { readonly kind: 'rows'; readonly rows: Rows }
  /** A new snapshot takes the place of all rows. */
  | { readonly kind: 'shown' };

/** The part of a store that a mirror needs. */
export type MirroredStore = Pick<PlacementStore, 'snapshot' | 'revision' | 'follow' | 'useMirror'>;

const NOTHING: Resources = {};
const RETRY: BackoffLimits = { firstMs: 50, maxMs: 2_000 };
/**
 * The pause between reads of the stream while changes come and nobody waits for one. A read costs more than the claims
 * that it brings: a wake-up, two system calls, cold caches. Decisions on a mirror that is so much older are rarely others,
 * and the commit checks them.
 */
const READ_INTERVAL_MS = 25;

/**
 * All of a cell's placement in this process's memory: a snapshot, then the stream.
 *
 * When the stream breaks (the store was away, or it no longer reaches back far enough) the mirror keeps showing its last
 * state, is not ready, and loads a new snapshot beside it, which is shown once it has caught up with the store. Changes that
 * this process applies after that go to both states, so that it always reads its own writes. Those before are in what it
 * catches up with; or they are not, because the store has lost them, and must not be put among rows that are older.
 */
export class Mirror implements PlacementView {
  private readonly closing = new AbortController();
  private readonly waiters: RevisionWaiters;
  private readonly listeners = new Set<Listener>();
  private inputListener: ((input: MirrorInput) => void) | undefined;
  private state = new MirrorState();
  /** The state that is being loaded, before it is shown. */
  private next: MirrorState | undefined;
  private problem: string | undefined = 'loading the first snapshot';
  private running: Promise<void> = Promise.resolve();

  private constructor(
    private readonly store: MirroredStore,
    private readonly options: MirrorOptions,
  ) {
    this.waiters = new RevisionWaiters(options.clock);
  }

  /** Resolves when the first snapshot is shown, however long the store is away. @throws BerthError `aborted / cancelled`. */
  static async open(store: MirroredStore, options: MirrorOptions): Promise<Mirror> {
    const mirror = new Mirror(store, options);
    const shown = new Promise<void>((resolve, reject) => {
      const stop = mirror.onChange(() => {
        stop();
        resolve();
      });
      const cancelled = () => reject(new BerthError('aborted', 'cancelled', 'stopped waiting for the store'));
      options.signal?.addEventListener('abort', cancelled, { once: true });
      if (options.signal?.aborted) cancelled();
    });
    mirror.running = mirror.run();
    try {
      await shown;
      store.useMirror?.(mirror);
    } catch (thrown) {
      await mirror.close();
      throw thrown;
    }
    return mirror;
  }

  /** Shows a commit of this process at once, ahead of the stream. */
  apply(change: Change): void {
    this.loaded?.apply(change);
    if (change.revision > this.state.revision) this.inputListener?.({ kind: 'applied', change });
    this.state.apply(change);
    this.notify();
  }

  /** Shows rows that are newer than the mirror's, such as the usage that a refused claim brings. */
  applyRows(rows: Rows): void {
    this.loaded?.applyRows(rows);
    this.inputListener?.({ kind: 'rows', rows });
    this.state.applyRows(rows);
    this.notify();
  }

  /**
   * Resolves when all commits up to a revision are shown. With the store's revision, what is read next is linearizable.
   *
   * @throws BerthError `unavailable / mirror_behind` after the time, `aborted / cancelled` by the signal.
   */
  waitFor(revision: number, limits: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void> {
    return this.waiters.waitFor(revision, this.state.revision, limits);
  }

  /** Tells one listener all inputs from now on, each before it is shown; the rows of now are `rows`. */
  onInput(listener: ((input: MirrorInput) => void) | undefined): void {
    this.inputListener = listener;
  }

  /** All rows that are shown, in pieces. What changes while they are read may be in them or not. */
  rows(): Iterable<Rows> {
    return this.state.rows();
  }

  readiness(): ReturnType<Running['readiness']> {
    return this.problem === undefined ? { ready: true } : { ready: false, reason: `mirror: ${this.problem}` };
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.waiters.close();
    await this.running;
  }

  private async run(): Promise<void> {
    const { clock, random, log } = this.options;
    const { signal } = this.closing;
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.sync(() => {
          failures = 0;
        });
      } catch (thrown) {
        const error = BerthError.from(thrown);
        this.problem = error.message;
        const pauseMs = backoffMs(++failures, RETRY, random);
        if (error.code === 'internal') log.error({ event: 'mirror_failed', error }, 'mirror failed, retrying');
        else log.info({ event: 'mirror_resync', reason: error.reason, pauseMs }, 'mirror lost the stream, retrying');
        await sleep(clock, pauseMs, signal);
      }
    }
  }

  /** The state that is to be shown, once its snapshot is there. */
  private get loaded(): MirrorState | undefined {
    return this.next && this.next.revision >= 0 ? this.next : undefined;
  }

  /** Loads a snapshot, shows it as soon as it has caught up, and follows until the stream breaks. */
  private async sync(onShown: () => void): Promise<void> {
    const next = new MirrorState();
    this.next = next;
    const from = await this.store.snapshot((rows) => next.applyRows(rows));
    next.reached(from);
    const target = await this.store.revision();
    const showWhenReady = () => {
      if (this.next !== next || next.revision < target) return;
      this.show(next);
      onShown();
    };
    showWhenReady();
    const onChanges = (changes: readonly Change[]) => {
      if (this.state === next) this.tellStream(changes);
      for (const change of changes) next.advance(change);
      showWhenReady();
      this.notify();
    };
    await this.store.follow(from, onChanges, this.closing.signal, () => this.waiters.idle(READ_INTERVAL_MS));
  }

  /** Tells the changes that are not shown yet: those of this process are ahead of the stream. */
  private tellStream(changes: readonly Change[]): void {
    if (this.inputListener === undefined) return;
    const unseen = changes.filter(({ revision }) => revision > this.state.revision);
    if (unseen.length > 0) this.inputListener({ kind: 'stream', changes: unseen });
  }

  private show(next: MirrorState): void {
    next.takeChanged();
    this.state = next;
    this.next = undefined;
    this.problem = undefined;
    this.waiters.reached(next.revision);
    this.inputListener?.({ kind: 'shown' });
    for (const listener of this.listeners) this.notifyOne(listener, 'all');
  }

  private notify(): void {
    this.waiters.reached(this.state.revision);
    const changed = this.state.takeChanged();
    if (changed.roots.size === 0 && changed.consumers.size === 0 && changed.aggregates.size === 0) return;
    for (const listener of this.listeners) this.notifyOne(listener, changed);
  }

  private notifyOne(listener: Listener, changed: Parameters<Listener>[0]): void {
    try {
      listener(changed);
    } catch (thrown) {
      const error = BerthError.from(thrown);
      this.options.log.error({ event: 'mirror_listener_failed', error }, 'mirror listener failed');
    }
  }

  // PlacementView, on the state that is shown now.

  get revision(): number {
    return this.state.revision;
  }
  provider(uuid: string): Revised<Provider> | undefined {
    return this.state.providers.get(uuid);
  }
  providerByName(name: string): Provider | undefined {
    return this.state.providers.newestOf(this.state.byName.get(name));
  }
  providers(): Iterable<Provider> {
    return this.state.providers.values();
  }
  get providerCount(): number {
    return this.state.providers.size;
  }
  usage(providerUuid: string): Resources {
    return this.state.usages.get(providerUuid)?.used ?? NOTHING;
  }
  tree(rootUuid: string): readonly Provider[] {
    return this.state.tree(rootUuid);
  }
  children(providerUuid: string): ReadonlySet<string> {
    return this.state.children.get(providerUuid);
  }
  membersOf(aggregate: string): ReadonlySet<string> {
    return this.state.byAggregate.get(aggregate);
  }
  providersWithTrait(trait: string): ReadonlySet<string> {
    return this.state.byTrait.get(trait);
  }
  providersWithClass(resourceClass: string): ReadonlySet<string> {
    return this.state.byClass.get(resourceClass);
  }
  sharingProviders(): ReadonlySet<string> {
    return this.state.byTrait.get(SHARING_TRAIT);
  }
  host(name: string): Revised<Host> | undefined {
    return this.state.hosts.get(name);
  }
  hosts(): Iterable<Host> {
    return this.state.hosts.values();
  }
  hostOfRoot(rootUuid: string): Host | undefined {
    return this.state.hosts.newestOf(this.state.hostsByRoot.get(rootUuid));
  }
  aggregate(uuid: string): Aggregate | undefined {
    return this.state.aggregates.get(uuid);
  }
  aggregates(): Iterable<Aggregate> {
    return this.state.aggregates.values();
  }
  hostsIn(aggregate: string): ReadonlySet<string> {
    return this.state.hostsByAggregate.get(aggregate);
  }
  serverGroup(key: string): StoredGroup | undefined {
    return this.state.serverGroups.get(key);
  }
  serverGroups(): Iterable<StoredGroup> {
    return this.state.serverGroups.values();
  }
  consumer(uuid: string): Revised<Consumer> | undefined {
    return this.state.consumers.get(uuid);
  }
  consumers(): Iterable<Consumer> {
    return this.state.consumers.values();
  }
  consumersOn(providerUuid: string): ReadonlySet<string> {
    return this.state.byProvider.get(providerUuid);
  }
  consumersOf(projectId: string): ReadonlySet<string> {
    return this.state.projects.consumers(projectId);
  }
  groupMembers(group: string): ReadonlySet<string> {
    return this.state.byGroup.get(group);
  }

  keptPlaces(group: string): ReadonlySet<string> {
    return this.state.keptByGroup.get(group);
  }
  leases(): Iterable<PlaceLease> {
    return this.state.leases.values();
  }
  get leaseCount(): number {
    return this.state.leases.size;
  }
  leasesOn(rootUuid: string): Iterable<PlaceLease> {
    const uuids = this.state.leasesByRoot.get(rootUuid);
    return uuids.size === 0 ? NO_LEASES : this.#leasesOf(uuids);
  }
  nominations(): readonly Revised<PlaceLease>[] {
    return this.state.nominations.size === 0 ? NO_LEASES : this.#leasesOf(this.state.nominations);
  }
  #leasesOf(uuids: ReadonlySet<string>): readonly Revised<PlaceLease>[] {
    return [...uuids].map((uuid) => this.state.leases.get(uuid)).filter((lease) => lease !== undefined);
  }
  guarantees(): readonly Revised<Guarantee>[] {
    return this.state.guaranteeList;
  }
  admissionTurn(): Revised<AdmissionTurn> | undefined {
    return this.state.admissionTurn;
  }
  reservations(): readonly Revised<Reservation>[] {
    return this.state.reservationList;
  }
  isReserved(providerUuid: string): boolean {
    return this.state.reservedProviders.has(providerUuid);
  }
  hasResourceClass(name: string): boolean {
    return isStandardResourceClass(name) || this.state.resourceClasses.get(name) !== undefined;
  }
  hasTrait(name: string): boolean {
    return isStandardTrait(name) || this.state.traits.get(name) !== undefined;
  }
  resourceClasses(): readonly CatalogueName[] {
    return withStandard(STANDARD_RESOURCE_CLASSES, this.state.resourceClasses);
  }
  traits(): readonly CatalogueName[] {
    return withStandard(STANDARD_TRAITS, this.state.traits);
  }
  get quotas(): ProjectIndex {
    return this.state.projects;
  }
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

function withStandard(standard: readonly string[], custom: VersionedRows<CatalogueName>): CatalogueName[] {
  return [...standard.map((name) => ({ name, createdAtMs: 0 })), ...custom.values()].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

const NO_LEASES: readonly Revised<PlaceLease>[] = [];
