import type { Consumer } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import { type AllocationState, decideAllocations, planWrites } from '../commands/allocations';
import { asCatalogueName, asConsumer, asProvider, asUsage } from '../commands/as-rows';
import { firstRevision } from '../commands/revisions';
import { type AllocationCommand, asReleased, asWrite, isAllocationCommand, runCommand } from '../commands/run-command';
import { isCommit, Transaction, type Write } from '../commands/transaction';
import type { Change, Command, CommitResult, Heartbeat, HeartbeatResult, PlacementStore, Rows } from '../store';
import { ChangeLog } from './change-log';
import { MemoryTables } from './tables';

const SCAN_CHUNK = 1_000;
/** Only transactions of one process meet here: each failed guard means that another one got through. */
const MAX_TRIES = 1_000;

/** The store in the memory of one process: the embedded default and the floor of the simulation. */
export class MemoryPlacementStore implements PlacementStore {
  readonly #tables = new MemoryTables();
  readonly #log: ChangeLog;
  #revision = 0;

  /** `maxChanges`: how far back followers can catch up. */
  constructor(maxChanges = 100_000) {
    this.#log = new ChangeLog(maxChanges);
  }

  async commit(command: Command): Promise<CommitResult> {
    if (isAllocationCommand(command)) return this.#allocate(command);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const tx = new Transaction(this.#tables);
      const refusal = await runCommand(tx, command);
      if (refusal) return refusal;
      if (tx.guards.every((guard) => this.#tables.holds(guard))) return this.#write(tx.writes, command.atMs);
    }
    throw new BerthError('aborted', 'contention', 'others were faster every time; try again');
  }

  async revision(): Promise<number> {
    return this.#revision;
  }

  async snapshot(onRows: (rows: Rows) => void): Promise<number> {
    const { provider, usage, host, consumer, resource_class, trait } = this.#tables.maps;
    onRows({
      usages: [...usage].map(([uuid, stored]) => asUsage(uuid, stored)),
      providers: [...provider].map(([uuid, stored]) => asProvider(stored, usage.get(uuid)?.row.generation ?? 0)),
      hosts: [...host.values()].map((stored) => ({ ...stored.row, revision: stored.revision })),
      consumers: [...consumer.values()].map(asConsumer),
      resourceClasses: [...resource_class].map(([name, stored]) => asCatalogueName(name, stored)),
      traits: [...trait].map(([name, stored]) => asCatalogueName(name, stored)),
    });
    return this.#revision;
  }

  follow(revision: number, onChanges: (changes: readonly Change[]) => void, signal: AbortSignal): Promise<void> {
    return this.#log.follow(revision, () => this.#revision, onChanges, signal);
  }

  async heartbeat(beat: Heartbeat): Promise<HeartbeatResult> {
    const { host, providerUuid, agentRun, sequence, atMs } = beat;
    const isStill =
      this.#tables.get('host', host)?.revision === beat.hostRevision &&
      this.#tables.get('provider', providerUuid)?.revision === beat.providerRevision;
    if (!isStill) return { kind: 'changed' };
    const last = this.#tables.get('sequence', host)?.row;
    if (last?.agentRun === agentRun && sequence <= last.sequence) return { kind: 'stale', present: last.sequence };
    const reported = { kind: 'put', table: 'sequence', key: host, row: { agentRun, sequence } } as const;
    this.#tables.write([reported, { kind: 'beat', host, atMs }], this.#revision);
    return { kind: 'unchanged' };
  }

  async consumers(uuids: readonly string[]): Promise<Consumer[]> {
    const found = uuids.map((uuid) => this.#tables.get('consumer', uuid));
    return found.filter((stored) => stored !== undefined).map(asConsumer);
  }

  async scanConsumers(onRows: (rows: readonly Consumer[]) => Promise<void>): Promise<void> {
    const uuids = [...this.#tables.maps.consumer.keys()];
    for (let from = 0; from < uuids.length; from += SCAN_CHUNK) {
      await onRows(await this.consumers(uuids.slice(from, from + SCAN_CHUNK)));
    }
  }

  /** Nothing to close: several services of a process share one store, and it ends with the process. */
  async close(): Promise<void> {}

  #allocate(command: AllocationCommand): CommitResult {
    const { consumers, force = false } = asWrite(command);
    const tables = this.#tables;
    const state: AllocationState = {
      consumer: (uuid) => tables.get('consumer', uuid)?.row,
      usage: (uuid) => tables.get('usage', uuid),
      inventories: (uuid) => tables.get('provider', uuid)?.row.inventories,
      count: (name) => tables.count(name),
      hasClass: (name) => tables.get('resource_class', name) !== undefined,
    };
    const decided = decideAllocations(state, consumers, { atMs: command.atMs, force });
    if (decided.kind !== 'plan') return asReleased(command, decided);
    return this.#write(planWrites(decided, state), command.atMs);
  }

  #write(writes: readonly Write[], atMs: number): CommitResult {
    if (!isCommit(writes)) {
      this.#tables.write(writes, this.#revision);
      return { kind: 'unchanged' };
    }
    this.#revision = this.#revision === 0 ? firstRevision(atMs) : this.#revision + 1;
    const change = { ...this.#tables.write(writes, this.#revision), revision: this.#revision };
    this.#log.append(change);
    return { kind: 'committed', change };
  }
}
