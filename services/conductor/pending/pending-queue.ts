import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Clock } from '#libs/domain/clock';
import type { Instance, Pending } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import { type FairShares, inFairOrder, type Standing } from '#libs/domain/queueing/fair-share';
import { inQueueOrder } from '#libs/domain/queueing/queue-order';
import { projectShare } from '#libs/domain/quotas/project-share';
import type { InstanceStore } from '#libs/instances/store';
import { lru } from '#libs/runtime/lru';
import type { ConductorConfig } from '../options';
import { groupByRequest } from '../steps/select-destinations';
import { placesOf, type ShownPlaces } from './places';
import type { WaitingRequest } from './waiting-request';

/** Most waiting instances, of all projects and of one. */
export type PlacesConfig = Pick<ConductorConfig, 'maxPending' | 'pendingShare'>;
/** Which of the bounds is reached. */
export type FullPlaces = 'all' | 'project';

/** Places that one project may have of those who wait: so that no one can take them all. */
export function placesOfProject({ maxPending, pendingShare }: PlacesConfig): number {
  return projectShare(maxPending, pendingShare);
}

/** Instances that are read at once. */
const CHUNK = 500;
/** However many may wait by the settings of another conductor. */
const MOST = 100_000;
/** Largest age of places that are shown. */
export const PLACES_AGE_MS = 1_000;
/** Instances that are looked through for those that end by their time limit. */
const MAX_ENDING = 500;
/** Specs whose amounts are known. */
const MAX_SPECS = 1_000;

/**
 * Waiting instances in order, from the store, read as seldom as possible. The naive way reads all of them each time, which is
 * megabytes at ten thousand; so only their uuids are read, and the records of new ones.
 */
export class PendingQueue {
  readonly #records = new Map<string, Pending>();
  /** By project, when its last instance left the queue: the order of turns. */
  readonly #served = new Map<string, number>();
  #servedCount = 0;
  /** Places that were granted and may not be written yet. */
  readonly #granted = new Map<string, number>();
  #grantedCount = 0;
  #ordered: readonly WaitingRequest[] | undefined = [];
  #shares: FairShares | undefined;
  #standings: ReadonlyMap<string, Standing> = new Map();
  /** Amounts of specs, which many instances share. */
  readonly #amounts = lru<string, Resources>(MAX_SPECS);
  #readAtMs = -Infinity;
  /** The places shown last, and the queue that they are of. */
  #shown:
    | { readonly of: readonly WaitingRequest[]; readonly atMs: number; readonly places: Promise<ShownPlaces> }
    | undefined;

  constructor(
    private readonly instances: InstanceStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes places for instances of a project that are about to be written as waiting. What this process has granted and not yet
   * seen written counts, too: a thousand instances of one request ask at once.
   *
   * @returns  what is full, if anything is; when nothing is, `written` is to be called in any case
   */
  async reserve(projectId: string, count: number, config: PlacesConfig): Promise<FullPlaces | undefined> {
    const { instances } = this;
    const [all, own] = await Promise.all([instances.countPending(), instances.countPending(projectId)]);
    const granted = this.#granted.get(projectId) ?? 0;
    if (all + this.#grantedCount + count > config.maxPending) return 'all';
    if (own + granted + count > placesOfProject(config)) return 'project';
    this.#granted.set(projectId, granted + count);
    this.#grantedCount += count;
    return undefined;
  }

  /** The instances for which places were taken are on record, or will not be. */
  written(projectId: string, count: number): void {
    const left = (this.#granted.get(projectId) ?? 0) - count;
    if (left > 0) this.#granted.set(projectId, left);
    else this.#granted.delete(projectId);
    this.#grantedCount -= count;
  }

  /** Reads who waits now, unless that was done within `maxAgeMs`. */
  async refresh(maxAgeMs = 0): Promise<void> {
    if (this.clock.elapsed() - this.#readAtMs < maxAgeMs) return;
    const uuids = await this.instances.pendingUuids(MOST);
    const present = new Set(uuids);
    for (const uuid of this.#records.keys()) if (!present.has(uuid)) this.#drop(uuid);
    const unknown = uuids.filter((uuid) => !this.#records.has(uuid));
    for (let from = 0; from < unknown.length; from += CHUNK) {
      for (const record of await this.instances.get(unknown.slice(from, from + CHUNK))) this.note(record);
    }
    this.#readAtMs = this.clock.elapsed();
  }

  /** A record as it is now. */
  note(record: Instance): void {
    if (record.state !== 'pending') return this.#drop(record.uuid);
    this.#records.set(record.uuid, record);
    this.#ordered = undefined;
  }

  get isEmpty(): boolean {
    return this.#records.size === 0;
  }

  /** Orders by what projects use and used from now on, or by turns. */
  weigh(shares: FairShares | undefined): void {
    if (shares !== this.#shares) this.#ordered = undefined;
    this.#shares = shares;
  }

  /** All requests that wait, in the order of their turns. */
  requests(): readonly WaitingRequest[] {
    if (this.#ordered !== undefined) return this.#ordered;
    const requests = groupByRequest([...this.#records.values()]).map((ofOne) => this.#requestOf(ofOne));
    const present = new Set(requests.map(({ projectId }) => projectId));
    for (const projectId of this.#served.keys()) if (!present.has(projectId)) this.#served.delete(projectId);
    if (this.#shares === undefined) {
      this.#standings = new Map();
      return (this.#ordered = inQueueOrder(requests, this.#served));
    }
    const { waiters, standings } = inFairOrder(requests, this.#shares);
    this.#standings = standings;
    return (this.#ordered = waiters);
  }

  /**
   * The places of all requests that wait. To read who ends soon, and to number ten thousand, takes milliseconds, and many ask at
   * once: so one answer is kept for as long as the order is the same, but for no longer than it may be old.
   */
  places(): Promise<ShownPlaces> {
    const requests = this.requests();
    const nowMs = this.clock.elapsed();
    const isFresh = this.#shown?.of === requests && nowMs - this.#shown.atMs < PLACES_AGE_MS;
    if (this.#shown && isFresh) return this.#shown.places;
    const standings = this.#standings;
    const halfLifeMs = this.#shares?.halfLifeMs ?? 0;
    const places = this.instances.nextDue(this.clock.now(), MAX_ENDING).then((ending) => {
      return { ...placesOf(requests, ending), standings, halfLifeMs };
    });
    this.#shown = { of: requests, atMs: nowMs, places };
    // A failed read is not kept.
    places.catch(() => {
      if (this.#shown?.places === places) this.#shown = undefined;
    });
    return places;
  }

  #drop(uuid: string): void {
    const record = this.#records.get(uuid);
    if (record === undefined) return;
    this.#records.delete(uuid);
    this.#served.set(record.projectId, ++this.#servedCount);
    this.#ordered = undefined;
  }

  #requestOf([, records]: readonly [requestId: string, ofOne: readonly Pending[]]): WaitingRequest {
    const [{ requestId, projectId, createdAtMs, admission, requestSpec }] = records as [Pending, ...Pending[]];
    const { priority = 0, mayPreempt = false } = admission ?? {};
    // Specs of the kinds of a gang of several.
    const specs = new Set<string>();
    const asked: Record<string, number> = {};
    for (const record of records) {
      const spec = Buffer.from(record.requestSpec).toString('latin1');
      specs.add(spec);
      // Only shares are of amounts.
      const amounts = this.#shares === undefined ? {} : this.#amountsOf(spec, record.requestSpec);
      for (const name in amounts) asked[name] = (asked[name] ?? 0) + (amounts[name] as number);
    }
    return {
      requestId,
      projectId,
      priority,
      arrivedAtMs: createdAtMs,
      asked,
      shape: `${records.length} ${mayPreempt ? priority : 'waits'} ${[...specs].join(' ')}`,
      requestSpec,
      uuids: records.map(({ uuid }) => uuid).sort(),
      isTold: records.every(({ waiting }) => waiting.waitsFor.length > 0),
      preempts: records.some(({ waiting }) => waiting.preemption !== undefined),
    };
  }

  /** The amounts that a spec asks for, those of its groups, too. */
  #amountsOf(key: string, encoded: Uint8Array): Resources {
    const known = this.#amounts.get(key);
    if (known !== undefined) return known;
    const { resources, requestGroups } = requestSpecCodec.decode(encoded);
    const amounts: Record<string, number> = { ...resources };
    for (const group of requestGroups) {
      for (const [name, amount] of Object.entries(group.resources)) amounts[name] = (amounts[name] ?? 0) + amount;
    }
    this.#amounts.set(key, amounts);
    return amounts;
  }
}
