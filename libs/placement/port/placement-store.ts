import type { Consumer } from '../../domain/consumer';
import type { Host } from '../../domain/host';
import type { RecentUse } from '../../domain/quotas/recent-use';
import type { AskStore } from './asks';
import type { AcquireHosts, Command, HostGrant, HostReport, ReleaseHosts } from './command';
import type { CommitResult, ReportResult } from './commit-result';
import type { MirroredRows } from './mirrored-rows';
import type { PoolStore } from './pools';
import type { ProcessStore } from './processes';
import type {
  Change,
  EndedUsage,
  KeepTerms,
  KeptCandidate,
  KeptDecision,
  KeptRequest,
  OwnedKeepTerms,
  ProjectUsage,
  ReportedProvider,
  Revised,
  Rows,
  TakenCandidate,
} from './rows';
import type { StoreIdentity } from './store-identity';
import type { StoreImage } from './store-image';

export type * from './asks';
export type * from './command';
export type * from './commit-result';
export type * from './pools';
export type * from './processes';
export type * from './rows';
export type * from './store-identity';
export type * from './store-image';

/**
 * The truth about providers, hosts and consumers of one cell. Adapters: `redis` and `memory`, which pass one contract
 * suite (`libs/testing/placement/placement-store-contract`).
 *
 * Every commit is atomic: guards are checked first, then everything is written, the revision rises by one and one change
 * goes to the stream. A commit answers with its change, so that a mirror can read its own writes; a refused commit changes
 * nothing and says why as a value. Commits of one tick may share a batch, and then a revision and a change; each is still
 * made or refused by itself, in order. Exceptions are for a store that is away (`unavailable`).
 */
export interface PlacementStore extends PoolStore, ProcessStore, AskStore {
  /**
   * Applies one command.
   *
   * @throws BerthError `unavailable / store_away` (nothing was done), `unavailable / outcome_unknown` (the connection broke
   *   under way: send it again, commands are guarded or replace what they wrote before); `aborted / contention`;
   *   `invalid_argument / duplicate_consumer`, `invalid_argument / malformed_amount`.
   */
  commit(command: Command): Promise<CommitResult>;

  /**
   * Decides the claims of this process on the rows of a mirror: a claim whose rows are up to date there is one trip. A store
   * that is in this process has no use for it.
   */
  useMirror?(mirror: MirroredRows): void;

  /**
   * Takes an agent's report: the root provider is created or updated to what the agent says of it, without a generation
   * guard, and keeps what operators decided (`commands/reports/merge-report.ts`); the host's row likewise. Inventories of a class in use that the report leaves out are kept,
   * reserved in full; so is a nested provider (`commands/reports/report-nested.ts`). A report that changes neither row commits nothing (`unchanged`): its sequence is noted, and that
   * the agent lives (read by `sweep_hosts`). A report of another epoch than the host's is refused; one that is accepted
   * renews the lease of its holder.
   *
   * @throws BerthError as `commit`.
   */
  reportHost(report: HostReport): Promise<ReportResult>;

  /**
   * Makes a run the holder of hosts, each by itself: of those that nobody holds, or whose holder's lease ran out by the
   * store's time, and again of those that it holds. The epoch rises with each holder and follows the clock, so that none is
   * given twice though the store was wiped, or restored from an older copy. Mirrors don't see it before a report.
   *
   * @returns a grant for each host, in order
   * @throws BerthError `unavailable`, as `commit`.
   */
  acquireHosts(wanted: AcquireHosts): Promise<HostGrant[]>;

  /** Gives hosts back that the run still holds; reports of its epoch are refused from then on. */
  releaseHosts(held: ReleaseHosts): Promise<void>;

  /** The revision of the last commit; 0 for an empty store. */
  revision(): Promise<number>;

  /** Which store this is: what tells one that is new, or that lost writes, from the one that was known. */
  identify(): Promise<StoreIdentity>;

  /**
   * All rows, in chunks, then the revision to follow from. Rows may be newer than that revision; following the stream
   * from it converges, because changes carry whole rows and each row its revision.
   */
  snapshot(onRows: (rows: Rows) => void): Promise<number>;

  /**
   * The store's content, for another store that is to be opened with it. A store that is read over a connection reads table after
   * table: what is committed meanwhile is in some of them, and `revision` is that of the beginning.
   */
  image(): Promise<StoreImage>;

  /**
   * Changes after `revision`, in order, without a gap, until the signal aborts. A store that is read over a connection awaits
   * `pause` after each read that brought changes.
   *
   * @throws BerthError `failed_precondition / revision_trimmed` when the stream no longer reaches back that far, or the
   *   store is a new one: take a snapshot again. `unavailable` when the store goes away: likewise.
   */
  follow(
    revision: number,
    onChanges: (changes: readonly Change[]) => void,
    signal: AbortSignal,
    pause?: () => Promise<void>,
  ): Promise<void>;

  /** The consumers as they are in the store now, for processes without a mirror. Missing ones are left out. */
  consumers(uuids: readonly string[]): Promise<Consumer[]>;

  /** Likewise the hosts. */
  hosts(names: readonly string[]): Promise<Host[]>;

  /** Last reports of these providers. Providers that no agent reports are left out. */
  reported(providerUuids: readonly string[]): Promise<ReportedProvider[]>;

  /** When hosts were heard last, in milliseconds: the time of the last report that was taken. Those that are down are left out. */
  heardAt(names: readonly string[]): Promise<Map<string, number>>;

  /**
   * Hosts of which no report was worked on that said all that was there after a time (`note_heard`), and which nobody
   * declared dead after it (`note_dead`).
   */
  unheardHosts(sinceMs: number): Promise<Pick<Host, 'name' | 'up'>[]>;

  /** Every consumer, in chunks, for the audit. */
  scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void>;

  /** Usage of every project that holds anything, or did lately. */
  projectUsages(): Promise<Revised<ProjectUsage>[]>;

  /** The settled days of projects, by project; those without any are left out. */
  projectDays(projectIds: readonly string[]): Promise<Map<string, ProjectUsage['days']>>;

  /** The last samples of what projects held lately. */
  recentUses(): Promise<RecentUse[]>;

  /** Ended holdings of a project's consumers. */
  endedUsage(projectId: string): Promise<EndedUsage>;

  /** Keeps decisions, and of all the last `most`, each for the last that was decided for its instances and its request. No commit. */
  keepDecisions(decisions: readonly KeptDecision[], most: number): Promise<void>;

  /** The content of the last decision for an instance or a request, if it is still kept. */
  decision(uuid: string): Promise<Uint8Array | undefined>;

  /** The contents of the last `most` decisions that are kept, the newest first. */
  recentDecisions(most: number): Promise<Uint8Array[]>;

  /**
   * Keeps sealed allocation requests under ids, for a time, and of all at most `most`: beyond that, those that expire first go.
   * No commit.
   */
  keepAllocationRequests(requests: readonly KeptRequest[], terms: KeepTerms): Promise<void>;

  /** Requests kept under ids, in their order; undefined for unknown and expired ones. */
  allocationRequests(ids: readonly string[], atMs: number): Promise<(Uint8Array | undefined)[]>;

  /**
   * Keeps candidates under ids, for a time, and of all at most `most`: beyond that, those that expire first of the owner who
   * has most go first. No commit.
   */
  keepCandidates(candidates: readonly KeptCandidate[], terms: OwnedKeepTerms): Promise<void>;

  /** Takes the candidate that is kept under an id: only one caller gets it. Undefined when it is unknown, expired or taken. */
  takeCandidate(id: string, atMs: number): Promise<TakenCandidate | undefined>;

  close(): Promise<void>;
}
