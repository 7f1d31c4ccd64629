import type { Principal } from '#libs/auth/auth';
import type { ListUsageRequest, ListUsageResponse } from '#libs/contracts/quotas';
import { randomInt } from '#libs/domain/random';
import { listUsage } from '#libs/fleet-settings/list-usage';
import { KeptByTree } from '#libs/placement/index/kept-by-tree';
import { RootColumns } from '#libs/placement/index/root-columns';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type {
  Command,
  CommitResult,
  KeptCandidate,
  PlacementStore,
  TakenCandidate,
} from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import {
  findCandidates,
  findCandidatesInTurns,
  type SearchResult,
  type Turns,
} from '#libs/placement/search/find-candidates';
import { KeptCandidates } from '#libs/placement/search/kept-candidates';
import { type CandidateQuery, MAX_STEPS_PER_ROOT, type SearchOptions } from '#libs/placement/search/query';
import { turnsBy } from '#libs/placement/search/turns';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { ClientSource } from './builds/lazy-client';
import type { PlacementApiConfig } from './options';
import { fullSummaries } from './provider-summaries';
import { Revisions } from './revisions';

/** A command without its time, which `commit` adds. */
export type Order = Command extends infer C ? (C extends Command ? Omit<C, 'atMs'> : never) : never;

export interface PlacementApiDeps extends RuntimeDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly config: PlacementApiConfig;
  /** By which the API to build acts. The API closes it. */
  readonly builds: ClientSource;
  /** The store is that of a fleet's top, whose usage is that of its cells. */
  readonly isTop?: boolean;
}

/** The store as handlers see it: linearizable reads from the mirror, and writes that read themselves. */
export class Placement {
  readonly config: PlacementApiConfig;
  readonly #revisions: Revisions;
  readonly #columns: RootColumns;
  readonly #kept: KeptCandidates;
  readonly #summaries: KeptByTree<string>;

  constructor(private readonly deps: PlacementApiDeps) {
    this.config = deps.config;
    this.#revisions = new Revisions(() => deps.placement.revision());
    this.#columns = new RootColumns(deps.mirror);
    this.#kept = new KeptCandidates(deps.mirror);
    this.#summaries = new KeptByTree(deps.mirror, (root) => fullSummaries(deps.mirror, root));
  }

  /**
   * A view with every commit that was answered before this call, by any process. Valid until the next `await`.
   *
   * @throws BerthError `unavailable`: the store is unavailable, or the mirror does not catch up in time.
   */
  async now(): Promise<PlacementView> {
    const { mirror } = this.deps;
    await mirror.waitFor(await this.#revisions.next(), { timeoutMs: this.config.readTimeoutMs });
    return mirror;
  }

  /**
   * The mirror's present view, perhaps some milliseconds old: for error texts and after own commits, not for decisions.
   */
  get recent(): PlacementView {
    return this.deps.mirror;
  }

  async commit(order: Order): Promise<CommitResult> {
    const { placement, mirror, clock } = this.deps;
    const result = await placement.commit({ ...order, atMs: clock.now() });
    if (result.kind === 'committed') mirror.apply(result.change);
    return result;
  }

  /**
   * Candidates for a query, in the mirror's present view, within the limits of a request; a long search yields to
   * others. An unchanged tree returns the same objects each time.
   */
  candidates(query: CandidateQuery, options: Pick<SearchOptions, 'limit' | 'nestedAware'>): Promise<SearchResult> {
    const seed = this.config.randomizeCandidates ? { seed: randomInt(this.deps.random, 2 ** 31) } : {};
    const aids = { columns: this.#columns, kept: this.#kept, ...this.turns() };
    const limits = { ...this.#stepLimits(), limit: Math.min(options.limit ?? Infinity, this.config.maxCandidates) };
    return findCandidatesInTurns(this.recent, query, { ...options, ...seed, ...limits }, aids);
  }

  /** Turns of some milliseconds with pauses, in which the mirror may change. */
  turns(): Turns {
    return turnsBy(this.deps.clock);
  }

  /** True when there is a candidate in the mirror's present view. */
  hasCandidate(query: CandidateQuery): boolean {
    const aids = { columns: this.#columns, kept: this.#kept };
    return findCandidates(this.recent, query, { ...this.#stepLimits(), limit: 1 }, aids).candidates.length > 0;
  }

  #stepLimits() {
    const { maxSearchSteps: maxSteps } = this.config;
    return { maxSteps, maxStepsPerRoot: Math.min(maxSteps, MAX_STEPS_PER_ROOT) };
  }

  /** The summaries of a tree's providers since 1.29, from `fullSummaries`: cached per state of the tree. */
  summariesOfTree(rootUuid: string): string {
    return this.#summaries.of(rootUuid);
  }

  /** Keeps candidates so that each may be claimed by its id, until then or for the time of the settings, as part of its client's share. */
  keepCandidates(candidates: readonly KeptCandidate[], client: Principal, expiresAtMs?: number): Promise<void> {
    const { candidateTtlMs, maxKeptCandidates: most } = this.config;
    const atMs = this.deps.clock.now();
    const ttlMs = expiresAtMs === undefined ? candidateTtlMs : expiresAtMs - atMs;
    const { projectId, userId } = client;
    const owner = projectId === undefined ? `user ${userId}` : `project ${projectId}`;
    return this.deps.placement.keepCandidates(candidates, { atMs, ttlMs, most, owner });
  }

  /** The candidate of an id, for this caller only. */
  takeCandidate(id: string): Promise<TakenCandidate | undefined> {
    return this.deps.placement.takeCandidate(id, this.deps.clock.now());
  }

  /**
   * Usage of projects by day, as counted by the store up to now; of a fleet of cells by theirs.
   *
   * @throws BerthError `unavailable`: at a fleet's top, a cell does not answer, or there is no bus to ask it by.
   */
  async usage(asked: ListUsageRequest): Promise<ListUsageResponse> {
    if (this.deps.isTop) return (await this.deps.builds.get()).usagePage(asked);
    return listUsage(asked, this.deps, this.deps.clock.now());
  }

  /** A uuid for a provider without a client's, or for a candidate. */
  newUuid(): string {
    return this.deps.random.uuid();
  }

  close(): void {
    this.#columns.close();
    this.#kept.close();
    this.#summaries.close();
  }
}
