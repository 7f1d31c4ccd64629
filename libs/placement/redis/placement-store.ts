import { join } from 'node:path';
import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { asConsumer } from '../commands/as-rows';
import { type AllocationCommand, isAllocationCommand, runCommand } from '../commands/run-command';
import { Transaction } from '../commands/transaction';
import type { Change, Command, CommitResult, Heartbeat, HeartbeatResult, PlacementStore, Rows } from '../store';
import { decodeCell } from './cells';
import { BLOCK_MS, followStream } from './follow';
import { groupCommit } from './group-commit';
import { groupHeartbeat } from './group-heartbeat';
import { type Keys, keysOf } from './keys';
import { encodePlan } from './plan';
import { RedisReader } from './reader';
import { decodeChange, decodeLines, type Line } from './rows';

const scripts = loadScripts(join(__dirname, 'lua'), ['claim', 'commit', 'heartbeat']);
/** Only what the transaction has read makes it start again, so many in a row mean that something is wrong. */
const MAX_TRIES = 200;
const READ_CHUNK = 1_000;

/** What `lua/commit.lua` returns. */
type CommitReply = ['committed', revision: string, rows: string] | ['unchanged'] | ['conflict'];

export interface RedisPlacementOptions {
  readonly cell: string;
  /** About how many changes the stream keeps for followers. */
  readonly streamLength: number;
}

/** The store on Redis: rows in hashes, scripts that write them, one stream of changes. */
export class RedisPlacementStore implements PlacementStore {
  readonly heartbeat: (beat: Heartbeat) => Promise<HeartbeatResult>;
  readonly #client: RedisClient;
  readonly #keys: Keys;
  readonly #reader: RedisReader;
  readonly #commitAllocations: (command: AllocationCommand) => Promise<CommitResult>;
  readonly #streamLength: number;

  /** Owns the client from now on. */
  constructor(client: RedisClient, options: RedisPlacementOptions) {
    this.#client = client;
    this.#keys = keysOf(options.cell);
    this.#reader = new RedisReader(client, this.#keys);
    this.#streamLength = options.streamLength;
    this.heartbeat = groupHeartbeat(client, scripts.heartbeat, this.#keys);
    this.#commitAllocations = groupCommit(client, scripts.claim, this.#keys, options.streamLength);
  }

  async commit(command: Command): Promise<CommitResult> {
    if (isAllocationCommand(command)) return this.#commitAllocations(command);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const tx = new Transaction(this.#reader);
      const refusal = await runCommand(tx, command);
      if (refusal) return refusal;
      const result = await this.#commitTransaction(tx, command.atMs);
      if (result.kind !== 'conflict') return result;
    }
    throw new BerthError('aborted', 'contention', 'others were faster every time; try again');
  }

  revision(): Promise<number> {
    return this.#client.run(async (redis) => Number(await redis.get(this.#keys.revision)));
  }

  async snapshot(onRows: (rows: Rows) => void): Promise<number> {
    const revision = await this.revision();
    for (const table of ['resource_class', 'trait', 'host', 'consumer'] as const) {
      await this.#reader.scanCells(table, async (cells) => {
        onRows(decodeLines(cells.map(([key, cell]) => ({ table, key, cell }))));
      });
    }
    await this.#reader.scanCells('provider', async (cells) => {
      const lines: Line[] = cells.map(([key, cell]) => ({ table: 'provider', key, cell }));
      const usages = await this.#reader.cells(
        'usage',
        cells.map(([key]) => key),
      );
      for (const [i, cell] of usages.entries()) {
        if (cell !== null) lines.push({ table: 'usage', key: cells[i]?.[0] ?? '', cell });
      }
      onRows(decodeLines(lines));
    });
    return revision;
  }

  async follow(
    revision: number,
    onChanges: (changes: readonly Change[]) => void,
    signal: AbortSignal,
    hasSeen: (revision: number) => boolean = () => false,
  ): Promise<void> {
    const client = this.#client.duplicate('follow', BLOCK_MS);
    const stop = () => client.disconnect();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await client.ready(signal);
      await followStream(client, this.#keys, revision, onChanges, signal, hasSeen);
    } catch (thrown) {
      // Stopping is done by closing the connection under the read.
      if (!signal.aborted) throw thrown;
    } finally {
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

  async scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void> {
    await this.#reader.scanCells('consumer', (cells) =>
      onRows(cells.map(([uuid, cell]) => asConsumer(decodeCell('consumer', uuid, cell)))),
    );
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #commitTransaction(tx: Transaction, atMs: number): Promise<CommitResult | { readonly kind: 'conflict' }> {
    const { revision, changes, heartbeats, counters, provider, usage, inventory, host } = this.#keys;
    const { consumer, resource_class, trait, name, tree, sequence } = this.#keys;
    const keys = [revision, changes, heartbeats, counters, provider, usage, inventory, host];
    keys.push(consumer, resource_class, trait, name, tree, sequence);
    const args = [this.#streamLength, atMs, encodePlan(tx)];
    const reply = (await this.#client.runScript(scripts.commit, keys, args)) as CommitReply;
    if (reply[0] !== 'committed') return { kind: reply[0] };
    return { kind: reply[0], change: decodeChange(Number(reply[1]), reply[2]) };
  }
}
