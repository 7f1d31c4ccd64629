import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import { type Host, mayRunForgotten } from '../../domain/host';
import type { RecentUse } from '../../domain/quotas/recent-use';
import {
  type AllocationCommand,
  asReleased,
  asWrite,
  isAllocationCommand,
  termsOf,
} from '../commands/allocation-command';
import { decideAllocations } from '../commands/allocations';
import { reportHost } from '../commands/reports/report-host';
import { runCommand } from '../commands/run-command';
import { asConsumer, asProjectUsage, asRecentUse, asReported, projectKey } from '../commands/tables';
import { type Conflict, isCommit, type Proposal, transact, type Write } from '../commands/transaction';
import { decodeRecord, MAX_RECORDS_OF_PROJECT } from '../commands/usage/usage-records';
import type {
  AcquireHosts,
  AskStore,
  Change,
  Command,
  CommitResult,
  EndedUsage,
  HostGrant,
  HostReport,
  KeepTerms,
  KeptCandidate,
  KeptDecision,
  KeptRequest,
  OwnedKeepTerms,
  PlacementStore,
  PoolStore,
  ProcessStore,
  ProjectUsage,
  ReleaseHosts,
  ReportedProvider,
  ReportResult,
  Revised,
  Rows,
  StoreIdentity,
  StoreImage,
  TakenCandidate,
} from '../port/placement-store';
import { firstNumber } from '../port/revisions';
import { MemoryAsks } from './asks';
import { ChangeLog } from './change-log';
import { DecisionRing } from './decision-ring';
import { acquireHosts, releaseHosts } from './holders';
import { KeptUntil } from './kept-until';
import { MemoryPools } from './pools';
import { MemoryProcesses } from './processes';
import { MemoryTables } from './tables';

const SCAN_CHUNK = 1_000;
/** As many as the store on Redis remembers. */
const MAX_JUMPS = 16;

type Committed = Extract<CommitResult, { kind: 'committed' | 'unchanged' }>;

/** The store in the memory of one process: the embedded default, and what simulations run on. */
export class MemoryPlacementStore implements PlacementStore {
  readonly #tables = new MemoryTables();
  readonly #log: ChangeLog;
  readonly #decisions = new DecisionRing();
  readonly #requests = new KeptUntil<Uint8Array>();
  readonly #candidates = new KeptUntil<string>();
  readonly #pools = new MemoryPools(this.#tables.maps.holder);
  readonly #processes = new MemoryProcesses();
  readonly #asks = new MemoryAsks();
  #revision = 0;
  #claimToken = 0;
  #bornAtMs = 0;
  #jumps: StoreIdentity['jumps'] = [];
  /** Since when another server goes on, until its first commit. */
  #goesOnAtMs: number | undefined;
  #now = () => this.#goesOnAtMs ?? 0;

  /**
   * @param maxChanges  how far back followers can catch up
   * @param image  what it begins with, of another store; empty by default
   */
  constructor(maxChanges = 100_000, image?: StoreImage) {
    this.#log = new ChangeLog(maxChanges);
    if (image === undefined) return;
    this.#tables.load(image);
    ({ revision: this.#revision, claimToken: this.#claimToken, bornAtMs: this.#bornAtMs } = image);
  }

  async commit(command: Command): Promise<CommitResult> {
    if (isAllocationCommand(command)) return this.#allocate(command);
    return transact(
      this.#tables,
      (tx) => runCommand(tx, command),
      async (tx) => this.#commitProposal(tx, command.atMs),
    );
  }

  async reportHost(report: HostReport): Promise<ReportResult> {
    return transact(
      this.#tables,
      (tx) => reportHost(tx, report),
      async (tx) => this.#commitProposal(tx, report.atMs) as Committed | Conflict,
    );
  }

  async acquireHosts(wanted: AcquireHosts): Promise<HostGrant[]> {
    return acquireHosts(this.#tables.maps.holder, wanted);
  }

  /** True when a host is held by that epoch, for as long as its holder's lease lasts. */
  isHeldBy(host: string, epoch: number, atMs: number): boolean {
    const held = this.#tables.maps.holder.get(host);
    return held?.revision === epoch && held.row.untilMs > atMs;
  }

  async releaseHosts(held: ReleaseHosts): Promise<void> {
    releaseHosts(this.#tables.maps.holder, held);
  }

  joinPool: PoolStore['joinPool'] = async (wanted) => this.#pools.join(wanted);
  leavePool: PoolStore['leavePool'] = async (member) => this.#pools.leave(member);
  writeNode: PoolStore['writeNode'] = async (write) => this.#pools.write(write);
  nodes: PoolStore['nodes'] = async (hosts) => this.#pools.nodes(hosts);
  holders: PoolStore['holders'] = async (hosts) => this.#pools.heldBy(hosts);
  nodeNames: PoolStore['nodeNames'] = async () => this.#pools.nodeNames();
  noteProcess: ProcessStore['noteProcess'] = (...seen) => this.#processes.noteProcess(...seen);
  forgetProcess: ProcessStore['forgetProcess'] = (...named) => this.#processes.forgetProcess(...named);
  processes: ProcessStore['processes'] = () => this.#processes.processes();
  openAsk: AskStore['openAsk'] = (...ask) => this.#asks.openAsk(...ask);
  answerAsk: AskStore['answerAsk'] = (...answer) => this.#asks.answerAsk(...answer);
  askAnswer: AskStore['askAnswer'] = (...ask) => this.#asks.askAnswer(...ask);

  async revision(): Promise<number> {
    return this.#revision;
  }

  /** Its birth id is made of the time of its first commit. */
  async identify(): Promise<StoreIdentity> {
    const birthId = this.#revision === 0 ? undefined : `memory-${this.#bornAtMs}`;
    const isUnwritten = this.#goesOnAtMs !== undefined;
    const jumps = isUnwritten ? [...this.#jumps, [this.#revision, firstNumber(this.#now())] as const] : this.#jumps;
    return { birthId, bornAtMs: this.#bornAtMs, revision: this.#revision, nowMs: undefined, jumps, isUnwritten };
  }

  /**
   * As when another server goes on with what is here: the next revision and the next claim token are the clock's
   * microseconds, so that none is given again that the server before gave and lost. For worlds in which stores go back.
   *
   * @param now  the store's clock; it stands still by default
   */
  goOn(atMs: number, now = () => atMs): void {
    this.#goesOnAtMs = atMs;
    this.#now = now;
  }

  async snapshot(onRows: (rows: Rows) => void): Promise<number> {
    onRows(this.#tables.all());
    return this.#revision;
  }

  async image(): Promise<StoreImage> {
    const [revision, claimToken, bornAtMs] = [this.#revision, this.#claimToken, this.#bornAtMs];
    return { revision, claimToken, bornAtMs, ...this.#tables.image() };
  }

  follow(revision: number, onChanges: (changes: readonly Change[]) => void, signal: AbortSignal): Promise<void> {
    return this.#log.follow(revision, () => this.#revision, onChanges, signal);
  }

  async consumers(uuids: readonly string[]): Promise<Consumer[]> {
    const found = uuids.map((uuid) => this.#tables.get('consumer', uuid));
    return found.filter((stored) => stored !== undefined).map(asConsumer);
  }

  async hosts(names: readonly string[]): Promise<Host[]> {
    return names.map((name) => this.#tables.get('host', name)?.row).filter((host) => host !== undefined);
  }

  async reported(providerUuids: readonly string[]): Promise<ReportedProvider[]> {
    const rows = providerUuids.map((uuid) => this.#tables.get('provider', uuid));
    return rows.flatMap((stored) => (stored && asReported(stored)) ?? []);
  }

  async heardAt(names: readonly string[]): Promise<Map<string, number>> {
    return new Map(
      names.flatMap((name) => {
        const atMs = this.#tables.heardAt(name);
        return atMs === undefined ? [] : [[name, atMs] as const];
      }),
    );
  }

  async unheardHosts(sinceMs: number): Promise<Host[]> {
    const hosts = [...this.#tables.maps.host.values()].map(({ row }) => row);
    return hosts.filter((host) => mayRunForgotten(host, sinceMs));
  }

  async scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void> {
    const uuids = [...this.#tables.maps.consumer.keys()];
    for (let from = 0; from < uuids.length; from += SCAN_CHUNK) {
      await onRows(await this.consumers(uuids.slice(from, from + SCAN_CHUNK)));
    }
  }

  async projectUsages(): Promise<Revised<ProjectUsage>[]> {
    return [...this.#tables.maps.project_usage].map(([key, stored]) => asProjectUsage(key, stored));
  }

  async projectDays(projectIds: readonly string[]): Promise<Map<string, ProjectUsage['days']>> {
    const rows = projectIds.map((id) => [id, this.#tables.get('project_days', projectKey(id))?.row.days] as const);
    return new Map(rows.filter((row): row is [string, ProjectUsage['days']] => row[1] !== undefined));
  }

  async recentUses(): Promise<RecentUse[]> {
    return [...this.#tables.maps.recent_use].map(([key, stored]) => asRecentUse(key, stored));
  }

  async endedUsage(projectId: string): Promise<EndedUsage> {
    const key = projectKey(projectId);
    const texts = await this.#tables.records(key, MAX_RECORDS_OF_PROJECT);
    return { records: texts.map(decodeRecord), parts: this.#tables.get('usage_parts', key)?.row.days ?? {} };
  }

  async keepDecisions(decisions: readonly KeptDecision[], most: number): Promise<void> {
    this.#decisions.keep(decisions, most);
  }

  async recentDecisions(most: number): Promise<Uint8Array[]> {
    return this.#decisions.recent(most);
  }

  async decision(uuid: string): Promise<Uint8Array | undefined> {
    return this.#decisions.of(uuid);
  }

  async keepAllocationRequests(requests: readonly KeptRequest[], terms: KeepTerms): Promise<void> {
    this.#requests.keep(
      requests.map(({ id, sealed }) => [id, sealed]),
      terms,
    );
  }

  async allocationRequests(ids: readonly string[], atMs: number): Promise<(Uint8Array | undefined)[]> {
    return ids.map((id) => this.#requests.of(id, atMs)?.content);
  }

  async keepCandidates(candidates: readonly KeptCandidate[], terms: OwnedKeepTerms): Promise<void> {
    this.#candidates.keep(
      candidates.map(({ id, content }) => [id, content]),
      terms,
    );
  }

  async takeCandidate(id: string, atMs: number): Promise<TakenCandidate | undefined> {
    return this.#candidates.take(id, atMs);
  }

  /** Does nothing: several services of a process share one store, which ends with the process. */
  async close(): Promise<void> {}

  #allocate(command: AllocationCommand): CommitResult {
    const write = asWrite(command);
    const terms = termsOf(write, command.atMs);
    const result = this.#commitProposal(decideAllocations(this.#tables, write.consumers, terms), command.atMs);
    if (result.kind === 'conflict') throw new BerthError('internal', 'stale_rows', 'rows changed under a decision');
    return result.kind === 'committed' ? result : asReleased(command, result);
  }

  #commitProposal(proposal: Proposal, atMs: number): CommitResult | Conflict {
    return this.#tables.refusalOf(proposal) ?? this.#write(proposal.writes, atMs);
  }

  #write(writes: readonly Write[], atMs: number): Committed {
    if (!isCommit(writes)) {
      this.#tables.write(writes, this.#revision, this.#claimToken);
      return { kind: 'unchanged' };
    }
    this.#nextNumbers(atMs);
    const change = { ...this.#tables.write(writes, this.#revision, this.#claimToken), revision: this.#revision };
    this.#log.append(change);
    return { kind: 'committed', change, claimToken: this.#claimToken };
  }

  /** Like `redis/lua/include/change.lua`. */
  #nextNumbers(atMs: number): void {
    const last = this.#revision;
    const leastUs = last === 0 ? firstNumber(atMs) : firstNumber(this.#goesOnAtMs ?? 0);
    this.#revision = Math.max(last + 1, leastUs);
    this.#claimToken = Math.max(this.#claimToken + 1, leastUs);
    if (last === 0) this.#bornAtMs = atMs;
    else if (this.#goesOnAtMs !== undefined)
      this.#jumps = [...this.#jumps, [last, this.#revision] as const].slice(-MAX_JUMPS);
    this.#goesOnAtMs = undefined;
  }
}
