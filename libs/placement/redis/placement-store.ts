import { join } from 'node:path';
import type { Consumer } from '../../domain/consumer';
import { type Host, mayRunForgotten } from '../../domain/host';
import type { RecentUse } from '../../domain/quotas/recent-use';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { storeError } from '../../redis/store-error';
import { type AllocationCommand, isAllocationCommand } from '../commands/allocation-command';
import { runCommand } from '../commands/run-command';
import { asConsumer, asProjectUsage, asRecentUse, asReported, projectKey } from '../commands/tables';
import { transact } from '../commands/transaction';
import { decodeRecord, MAX_RECORDS_OF_PROJECT } from '../commands/usage/usage-records';
import type { MirroredRows } from '../port/mirrored-rows';
import type {
  AcquireHosts,
  AskStore,
  Change,
  Command,
  CommitResult,
  EndedUsage,
  HostGrant,
  HostReport,
  ImageRow,
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
  StoreHealth,
  StoreIdentity,
  StoreImage,
  TakenCandidate,
} from '../port/placement-store';
import { redisAsks } from './asks';
import { decodeLines, type Line } from './change-record';
import { batchCommitter, type CommitTransaction, commitPerTick } from './commit-batch';
import { BLOCK_MS, followStream, OwnChanges } from './follow';
import { groupCommit } from './group-commit';
import { type Keys, keysOf } from './keys';
import { redisPools } from './pools';
import { redisProcesses } from './processes';
import { RedisReader } from './reader';
import { reportHosts } from './report-hosts';
import { decodeHolder, decodeIdentity, decodeRow, encodeHolder, healthIn, TABLES } from './row-format';
import { SeenRevisions } from './seen-revisions';

const scripts = loadScripts(join(__dirname, 'lua'), [
  'commit',
  'heartbeat',
  'acquire-hosts',
  'release-hosts',
  'keep-decisions',
  'keep-candidates',
  'keep-requests',
  'take-candidate',
]);
const READ_CHUNK = 1_000;
/** Bound of rereads, while others write. */
const MAX_READS = 3;

/** Settings of the store on Redis. */
export interface RedisPlacementOptions {
  readonly cell: string;
  /** About how many changes the stream keeps for followers. */
  readonly streamLength: number;
}

/** The store on Redis: rows in hashes, scripts that write them, one stream of changes. */
export class RedisPlacementStore implements PlacementStore {
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #reader: RedisReader;
  readonly #commitAllocations: (command: AllocationCommand) => Promise<CommitResult>;
  readonly #commitTransaction: CommitTransaction;
  readonly #reportHost: (report: HostReport) => Promise<ReportResult>;
  readonly #pools: PoolStore;
  readonly #processes: ProcessStore;
  readonly #asks: AskStore;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #ownChanges = new OwnChanges(() => this.#underWay.size > 0);
  readonly #seen = new SeenRevisions();
  #mirror: MirroredRows | undefined;

  /** Owns the client from now on. */
  constructor(client: RedisClient, { cell, streamLength }: RedisPlacementOptions) {
    const keys = keysOf(cell);
    this.#client = client;
    this.#keys = keys;
    this.#reader = new RedisReader(client, keys);
    this.#pools = redisPools(client, keys);
    this.#processes = redisProcesses(client, keys);
    this.#asks = redisAsks(client, cell);
    const commit = batchCommitter(client, scripts.commit, keys, { streamLength, seen: this.#seen });
    this.#commitAllocations = groupCommit(
      commit,
      this.#reader,
      () => this.#mirror,
      (failures, limits) => client.pause(failures, limits),
    );
    this.#commitTransaction = commitPerTick(commit);
    const decided = { reader: this.#reader, commit: this.#commitTransaction };
    this.#reportHost = reportHosts(client, scripts.heartbeat, keys, decided);
  }

  /** The revisions that the store told this process and that it must still have (`SeenRevisions`). */
  takeSeen(): readonly number[] {
    return this.#seen.take();
  }

  useMirror(mirror: MirroredRows): void {
    this.#mirror = mirror;
  }

  async commit(command: Command): Promise<CommitResult> {
    return this.#track(
      isAllocationCommand(command)
        ? this.#commitAllocations(command)
        : transact(this.#reader, (tx) => runCommand(tx, command), this.#commitTransaction),
    );
  }

  async reportHost(report: HostReport): Promise<ReportResult> {
    return this.#track(this.#reportHost(report));
  }

  async acquireHosts({ hosts, leaseMs, agentRun, serviceHost, formerRun = '' }: AcquireHosts): Promise<HostGrant[]> {
    const former = formerRun === '' ? '' : encodeHolder({ agentRun: formerRun, serviceHost });
    const args = [leaseMs, encodeHolder({ agentRun, serviceHost }), former, ...hosts];
    const answers = await this.#client.runScript(scripts['acquire-hosts'], [this.#keys.holder], args);
    return (answers as string[]).map(decodeGrant);
  }

  async releaseHosts({ hosts, ...holder }: ReleaseHosts): Promise<void> {
    const nobody = encodeHolder({ agentRun: '', serviceHost: '' });
    const args = [encodeHolder(holder), nobody, ...hosts];
    await this.#client.runScript(scripts['release-hosts'], [this.#keys.holder], args);
  }

  joinPool: PoolStore['joinPool'] = (wanted) => this.#pools.joinPool(wanted);
  leavePool: PoolStore['leavePool'] = (member) => this.#pools.leavePool(member);
  writeNode: PoolStore['writeNode'] = (write) => this.#pools.writeNode(write);
  nodes: PoolStore['nodes'] = (hosts) => this.#pools.nodes(hosts);
  holders: PoolStore['holders'] = (hosts) => this.#pools.holders(hosts);
  nodeNames: PoolStore['nodeNames'] = () => this.#pools.nodeNames();
  noteProcess: ProcessStore['noteProcess'] = (...seen) => this.#processes.noteProcess(...seen);
  forgetProcess: ProcessStore['forgetProcess'] = (...named) => this.#processes.forgetProcess(...named);
  processes: ProcessStore['processes'] = () => this.#processes.processes();
  openAsk: AskStore['openAsk'] = (...ask) => this.#asks.openAsk(...ask);
  answerAsk: AskStore['answerAsk'] = (...answer) => this.#asks.answerAsk(...answer);
  askAnswer: AskStore['askAnswer'] = (...ask) => this.#asks.askAnswer(...ask);

  revision(): Promise<number> {
    return this.#client.run(async (redis) => this.#seen.add(Number(await redis.get(this.#keys.revision))));
  }

  async identify(): Promise<StoreIdentity> {
    const { birth, revision } = this.#keys;
    const seen = this.#seen.highest;
    const replies = await this.#client.run((redis) =>
      redis.pipeline([['time'], ['mget', birth, revision], ['info', 'replication']]).exec(),
    );
    const failed = replies?.find(([error]) => error !== null)?.[0];
    if (failed) throw storeError(failed);
    type Replies = [time: string[], [born?: string, revision?: string], info: string];
    const [time, [born, present], info] = (replies ?? []).map(([, reply]) => reply) as Replies;
    const server = /master_replid:(\w+)/.exec(info)?.[1];
    return decodeIdentity(born ?? '', this.#seen.add(Number(present ?? 0)), time, { server, seen });
  }

  /** Figures of the server; more than each process that asks for its identity needs. */
  health(): Promise<StoreHealth> {
    return this.#client.run(async (redis) =>
      healthIn(`${await redis.info('memory')}\n${await redis.info('persistence')}`),
    );
  }

  async snapshot(onRows: (rows: Rows) => void): Promise<number> {
    const revision = await this.revision();
    for (const table of [
      'resource_class',
      'trait',
      'quota',
      'aggregate',
      'host',
      'server_group',
      'lease',
      'guarantee',
      'reservation',
      'admission_turn',
      'consumer',
    ] as const) {
      await this.#reader.scanTexts(table, async (texts) => {
        onRows(decodeLines(texts.map(([key, text]) => ({ table, key, text }))));
      });
    }
    await this.#reader.scanTexts('provider', async (texts) => {
      const lines: Line[] = texts.map(([key, text]) => ({ table: 'provider', key, text }));
      const usages = await this.#reader.texts(
        'usage',
        texts.map(([key]) => key),
      );
      for (const [i, text] of usages.entries()) {
        if (text !== null) lines.push({ table: 'usage', key: texts[i]?.[0] ?? '', text });
      }
      onRows(decodeLines(lines));
    });
    return revision;
  }

  async image(): Promise<StoreImage> {
    const { revision, bornAtMs } = await this.identify();
    const tables: Record<string, readonly ImageRow[]> = {};
    for (const table of TABLES) {
      const rows = await this.#reader.scan(table);
      tables[table] = rows.map(([key, stored]) => [key, stored.revision, stored.row]);
    }
    const { counters, heartbeats, claimToken } = this.#keys;
    const [counts, heard, token] = await this.#client.run((redis) =>
      Promise.all([redis.hgetall(counters), redis.zrange(heartbeats, '0', '-1', 'WITHSCORES'), redis.get(claimToken)]),
    );
    return {
      revision,
      claimToken: Number(token ?? 0),
      bornAtMs,
      tables,
      counts: Object.entries(counts).map(([name, count]) => [name, Number(count)]),
      heartbeats: heard.flatMap((host, n) => (n % 2 === 0 ? [[host, Number(heard[n + 1])] as const] : [])),
    };
  }

  async follow(
    revision: number,
    onChanges: (changes: readonly Change[]) => void,
    signal: AbortSignal,
    pause?: () => Promise<void>,
  ): Promise<void> {
    const client = this.#client.duplicate('follow', BLOCK_MS);
    const stop = () => client.disconnect();
    const keepNoMore = this.#ownChanges.keep();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await client.ready(signal);
      const see = (changes: readonly Change[]) => {
        this.#seen.add(changes.at(-1)?.revision ?? 0);
        onChanges(changes);
      };
      const reader = { client, keys: this.#keys, own: this.#ownChanges };
      await followStream(reader, revision, { onChanges: see, pause }, signal);
    } catch (thrown) {
      // Stopping is done by closing the connection under the read.
      if (!signal.aborted) throw thrown;
    } finally {
      keepNoMore();
      signal.removeEventListener('abort', stop);
      client.disconnect();
    }
  }

  async consumers(uuids: readonly string[]): Promise<Consumer[]> {
    const found: Consumer[] = [];
    for (let from = 0; from < uuids.length; from += READ_CHUNK) {
      const rows = await this.#reader.rows('consumer', uuids.slice(from, from + READ_CHUNK));
      for (const stored of rows) if (stored) found.push(asConsumer(stored));
    }
    return found;
  }

  async hosts(names: readonly string[]): Promise<Host[]> {
    const rows = await this.#reader.rows('host', names);
    return rows.filter((stored) => stored !== undefined).map(({ row }) => row);
  }

  async reported(providerUuids: readonly string[]): Promise<ReportedProvider[]> {
    const rows = await this.#reader.rows('provider', providerUuids);
    return rows.flatMap((stored) => (stored && asReported(stored)) ?? []);
  }

  async heardAt(names: readonly string[]): Promise<Map<string, number>> {
    const heard = await this.#reader.heardAt(names);
    return new Map(names.flatMap((name, n) => (heard[n] == null ? [] : [[name, Number(heard[n])] as const])));
  }

  async unheardHosts(sinceMs: number): Promise<Host[]> {
    const rows = await this.#reader.scan('host');
    return rows.map(([, { row }]) => row).filter((host) => mayRunForgotten(host, sinceMs));
  }

  async scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void> {
    await this.#reader.scanTexts('consumer', (texts) =>
      onRows(texts.map(([uuid, text]) => asConsumer(decodeRow('consumer', uuid, text)))),
    );
  }

  async projectUsages(): Promise<Revised<ProjectUsage>[]> {
    const rows = await this.#reader.scan('project_usage');
    return rows.map(([key, stored]) => asProjectUsage(key, stored));
  }

  async projectDays(projectIds: readonly string[]): Promise<Map<string, ProjectUsage['days']>> {
    const found = new Map<string, ProjectUsage['days']>();
    for (let from = 0; from < projectIds.length; from += READ_CHUNK) {
      const ids = projectIds.slice(from, from + READ_CHUNK);
      const rows = await this.#reader.rows('project_days', ids.map(projectKey));
      for (const [i, stored] of rows.entries()) if (stored) found.set(ids[i] as string, stored.row.days);
    }
    return found;
  }

  async recentUses(): Promise<RecentUse[]> {
    return (await this.#reader.scan('recent_use')).map(([key, stored]) => asRecentUse(key, stored));
  }

  async endedUsage(projectId: string): Promise<EndedUsage> {
    const key = projectKey(projectId);
    // A record that is folded meanwhile would be in both, or in neither: read again.
    for (let attempt = 1; ; attempt++) {
      const texts = await this.#reader.records(key, MAX_RECORDS_OF_PROJECT);
      const [stored] = await this.#reader.rows('usage_parts', [key]);
      const left = new Set(await this.#reader.records(key, MAX_RECORDS_OF_PROJECT));
      if (attempt < MAX_READS && texts.some((text) => !left.has(text))) continue;
      return { records: texts.map(decodeRecord), parts: stored?.row.days ?? {} };
    }
  }

  async keepDecisions(decisions: readonly KeptDecision[], most: number): Promise<void> {
    const args = decisions.flatMap(({ id, foundBy, content }) => [
      [id, ...foundBy].join(' '),
      Buffer.from(content).toString('base64'),
    ]);
    const { decisions: byId, decided, decisionRing } = this.#keys;
    await this.#client.runScript(scripts['keep-decisions'], [byId, decided, decisionRing], [most, ...args]);
  }

  async decision(uuid: string): Promise<Uint8Array | undefined> {
    const { decisions, decided } = this.#keys;
    const id = await this.#client.run((redis) => redis.hget(decided, uuid));
    const text = id === null ? null : await this.#client.run((redis) => redis.hget(decisions, id));
    return text === null ? undefined : Buffer.from(text, 'base64');
  }

  async recentDecisions(most: number): Promise<Uint8Array[]> {
    const { decisions, decisionRing } = this.#keys;
    const lines = await this.#client.run((redis) => redis.lrange(decisionRing, -most, -1));
    const ids = lines.map((line) => line.split(' ', 1)[0] ?? '').toReversed();
    if (ids.length === 0) return [];
    const texts = await this.#client.run((redis) => redis.hmget(decisions, ...ids));
    // One that was forgotten meanwhile is left out.
    return texts.flatMap((text) => (text === null ? [] : [Buffer.from(text, 'base64')]));
  }

  async keepAllocationRequests(requests: readonly KeptRequest[], { atMs, ttlMs, most }: KeepTerms): Promise<void> {
    const args = requests.flatMap(({ id, sealed }) => [id, Buffer.from(sealed).toString('base64')]);
    const { allocationRequests, allocationRequestExpiry } = this.#keys;
    const keys = [allocationRequests, allocationRequestExpiry];
    await this.#client.runScript(scripts['keep-requests'], keys, [atMs, atMs + ttlMs, most, ...args]);
  }

  async keepCandidates(found: readonly KeptCandidate[], terms: OwnedKeepTerms): Promise<void> {
    const { atMs, ttlMs, most, owner } = terms;
    const args = found.flatMap(({ id, content }) => [id, content]);
    const keys = this.#candidateKeys();
    await this.#client.runScript(scripts['keep-candidates'], keys, [atMs, atMs + ttlMs, most, owner, ...args]);
  }

  async takeCandidate(id: string, atMs: number): Promise<TakenCandidate | undefined> {
    const taken = await this.#client.runScript(scripts['take-candidate'], this.#candidateKeys(), [id]);
    if (!Array.isArray(taken)) return undefined;
    const [content, expiresAtMs] = [String(taken[0]), Number(taken[1])];
    return expiresAtMs > atMs ? { content, expiresAtMs } : undefined;
  }

  /** In the order of the scripts' KEYS. */
  #candidateKeys(): string[] {
    const { candidates, candidateExpiry, candidateOwners, candidatesByOwner, candidateCounts } = this.#keys;
    return [candidates, candidateExpiry, candidateOwners, candidatesByOwner, candidateCounts];
  }

  async allocationRequests(ids: readonly string[], atMs: number): Promise<(Uint8Array | undefined)[]> {
    if (ids.length === 0) return [];
    const { allocationRequests, allocationRequestExpiry } = this.#keys;
    const [texts, expiries] = await Promise.all([
      this.#client.run((redis) => redis.hmget(allocationRequests, ...ids)),
      this.#client.run((redis) => redis.zmscore(allocationRequestExpiry, ...ids)),
    ]);
    return ids.map((_, n) => {
      const text = texts[n];
      const isKept = typeof text === 'string' && Number(expiries[n] ?? 0) > atMs;
      return isKept ? Buffer.from(text, 'base64') : undefined;
    });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    await this.#client.close();
  }

  /** Takes note of a commit: closing waits for it, and its change need not be read again. */
  async #track<R extends CommitResult | ReportResult>(committing: Promise<R>): Promise<R> {
    this.#underWay.add(committing);
    try {
      const result = await committing;
      if (result.kind !== 'committed') return result;
      this.#seen.add(result.change.revision);
      this.#ownChanges.add(result.change);
      return result;
    } finally {
      this.#underWay.delete(committing);
    }
  }
}

/** Decodes the answer of `lua/acquire-hosts.lua` about one host. */
function decodeGrant(answer: string): HostGrant {
  const [, leftMs, holder] = /^0 (\d+) (.*)$/.exec(answer) ?? [];
  if (holder === undefined) return { kind: 'granted', epoch: Number(answer) };
  return { kind: 'taken', holder: decodeHolder(holder), leftMs: Number(leftMs) };
}
