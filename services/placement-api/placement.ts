import type { Clock } from '#libs/domain/clock';
import type { Provider } from '#libs/domain/provider';
import { type Random, randomInt } from '#libs/domain/random';
import { findCandidates } from '#libs/placement/candidates/find-candidates';
import type { Candidate, CandidateQuery, SearchOptions } from '#libs/placement/candidates/query';
import { RootColumns } from '#libs/placement/candidates/root-columns';
import { summariesOf } from '#libs/placement/candidates/summaries';
import type { Mirror } from '#libs/placement/mirror';
import type { Command, CommitResult, PlacementStore } from '#libs/placement/store';
import type { PlacementView } from '#libs/placement/view';
import { Revisions } from './revisions';

/** A command that the placement stamps with the time. */
export type Order = Command extends infer C ? (C extends Command ? Omit<C, 'atMs'> : never) : never;

export interface PlacementDeps {
  readonly store: PlacementStore;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly random: Random;
}

export interface PlacementLimits {
  /** How long a read may wait for the mirror to catch up with the store. */
  readonly readTimeoutMs: number;
  readonly requestGroups: number;
  /** The most candidates of one answer, whatever the client asks. */
  readonly candidates: number;
  /** Candidates in random order, not in that of the fleet. */
  readonly randomizeCandidates: boolean;
}

/** The truth, for handlers: reads that see every commit made before them, and writes that are seen at once. */
export class Placement {
  readonly #revisions: Revisions;
  readonly #columns: RootColumns;

  constructor(
    private readonly deps: PlacementDeps,
    readonly limits: PlacementLimits,
  ) {
    this.#revisions = new Revisions(() => deps.store.revision());
    this.#columns = new RootColumns(deps.mirror);
  }

  /**
   * All of placement as it is now: every commit that anybody was told of before this call, whichever process made it,
   * is in it. Good until the next `await`.
   *
   * @throws BerthError `unavailable`: the store is away, or the mirror can't keep up.
   */
  async now(): Promise<PlacementView> {
    const { mirror } = this.deps;
    await mirror.waitFor(await this.#revisions.next(), { timeoutMs: this.limits.readTimeoutMs });
    return mirror;
  }

  /** What this process knows, perhaps some milliseconds old: for choosing words, not for deciding. */
  get lately(): PlacementView {
    return this.deps.mirror;
  }

  async commit(order: Order): Promise<CommitResult> {
    const { store, mirror, clock } = this.deps;
    const result = await store.commit({ ...order, atMs: clock.now() });
    if (result.kind === 'committed') mirror.apply(result.change);
    return result;
  }

  /** Ways to meet a query, and the providers that an answer tells about, as `lately` knows them. */
  candidates(
    query: CandidateQuery,
    options: Pick<SearchOptions, 'limit' | 'nestedAware'>,
  ): { readonly candidates: readonly Candidate[]; readonly summaries: readonly Provider[] } {
    const limit = Math.min(options.limit ?? Number.POSITIVE_INFINITY, this.limits.candidates);
    const seed = this.limits.randomizeCandidates ? { seed: randomInt(this.deps.random, 2 ** 31) } : {};
    const { candidates } = findCandidates(this.lately, query, { ...options, ...seed, limit }, this.#columns);
    return { candidates, summaries: summariesOf(this.lately, candidates, options.nestedAware) };
  }

  /** For what a client leaves to the server to name. */
  newUuid(): string {
    return this.deps.random.uuid();
  }

  close(): void {
    this.#columns.close();
  }
}
