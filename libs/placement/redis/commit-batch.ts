import type { RedisClient } from '../../redis/connect';
import { WRITES } from '../../redis/schema';
import type { LuaScript } from '../../redis/scripts';
import { batchPerTick } from '../../runtime/batch-per-tick';
import { meaningOf } from '../commands/claims/check-guards';
import { addRow, type RowLists, type Stored, type TableName } from '../commands/tables';
import { type Conflict, isCommit, type Proposal } from '../commands/transaction';
import type { Change, CommitResult } from '../port/placement-store';
import { encodeBatch, guardsOfScript, TABLE_KEYS } from './encode-batch';
import type { Keys } from './keys';
import { decodeRow } from './row-format';
import type { SeenRevisions } from './seen-revisions';

/** The outcome of a proposal. */
export type Outcome = CommitResult | Conflict;

/** Commits proposals, one after the other; it throws BerthError as `RedisClient.runScript`. */
export type CommitBatch = (proposals: readonly Proposal[]) => Promise<Outcome[]>;

/** Commits one proposal. */
export type CommitTransaction = (proposal: Proposal) => Promise<Outcome>;

/** The facts that each write gives the store beside what it writes. */
export interface WriterFacts {
  /** About how many changes the stream keeps. */
  readonly streamLength: number;
  readonly seen: Pick<SeenRevisions, 'highest'>;
}

/** Guards and writes in one run of the script, beyond those of its first transaction: Redis does nothing else meanwhile. */
const MAX_WORK = 1_000;

/** The reply of `lua/commit.lua`. */
type Reply = [revision: string, firstClaimToken: string, usages: string[], ...outcomes: OutcomeReply[]];
type OutcomeReply = 0 | [guard: number, amounts: string];

/** @returns what commits a batch in one run of `lua/commit.lua` */
export function batchCommitter(
  client: RedisClient,
  script: LuaScript,
  k: Keys,
  { streamLength, seen }: WriterFacts,
): CommitBatch {
  const tables = (Object.entries(TABLE_KEYS) as [TableName, number][]).sort(([, a], [, b]) => a - b);
  const keys = [
    k.revision,
    k.changes,
    k.claimToken,
    k.birth,
    k.heartbeats,
    k.counters,
    ...tables.map(([name]) => k[name]),
    k.schema,
    k.usageRecords,
  ];
  return async (proposals) => {
    const args = [streamLength, encodeBatch(proposals), seen.highest, WRITES];
    const reply = (await client.runScript(script, keys, args)) as Reply;
    return outcomesOf(proposals, reply);
  };
}

/** @returns what commits a proposal, with the others of its tick */
export function commitPerTick(commit: CommitBatch): CommitTransaction {
  return batchPerTick(MAX_WORK, ({ guards, writes }: Proposal) => guards.length + writes.length, commit);
}

function outcomesOf(proposals: readonly Proposal[], [revisionText, firstToken, usages, ...outcomes]: Reply): Outcome[] {
  const revision = Number(revisionText);
  const changed = new ChangedRows();
  let claimToken = Number(firstToken);
  const results = proposals.map((proposal, i): Outcome | number => {
    const outcome = outcomes[i] as OutcomeReply;
    if (outcome !== 0) return failureOf(proposal, outcome);
    if (proposal.refusal) return proposal.refusal;
    if (!isCommit(proposal.writes)) return { kind: 'unchanged' };
    changed.add(proposal, revision, claimToken);
    return claimToken++;
  });
  if (!results.some((result) => typeof result === 'number')) return results as Outcome[];
  const change = { ...changed.rows(usages), revision };
  return results.map((result) =>
    typeof result === 'number' ? { kind: 'committed', change, claimToken: result } : result,
  );
}

function failureOf({ guards }: Proposal, [number, text]: Exclude<OutcomeReply, 0>): Outcome {
  const guard = guards[indexOfGuard(guards, number)];
  if (!guard) return { kind: 'conflict' };
  const usage =
    guard.kind === 'amount' && guard.table === 'usage' && text !== '' ? decodeRow('usage', guard.key, text) : undefined;
  return meaningOf(guard, usage);
}

/** The guard that became the script's guard of this number. */
function indexOfGuard(guards: Proposal['guards'], number: number): number {
  let seen = 0;
  return guards.findIndex((guard) => {
    seen += guardsOfScript(guard);
    return seen >= number;
  });
}

/** The rows that a batch has changed, as mirrors see them: the caller knows all but amounts, which the script tells. */
class ChangedRows {
  readonly #rows = new Map<TableName, Map<string, Stored<never> | undefined>>();

  add({ writes }: Proposal, revision: number, claimToken: number): void {
    for (const write of writes) {
      if (write.kind === 'put') this.#set(write.table, write.key, { row: write.row, revision });
      else if (write.kind === 'claim')
        this.#set('consumer', write.key, { row: { ...write.row, claimToken }, revision });
      else if (write.kind === 'delete') this.#set(write.table, write.key, undefined);
    }
  }

  rows(usages: readonly string[]): Omit<Change, 'revision'> {
    const rows: RowLists = {};
    const generations = new Map<string, number>();
    for (const line of usages) {
      const [key, text] = splitLine(line);
      if (text === '') continue;
      const usage = decodeRow('usage', key, text);
      generations.set(key, usage.row.generation);
      addRow(rows, 'usage', { key, stored: usage });
    }
    for (const [table, changed] of this.#rows) {
      if (table === 'usage') continue;
      for (const [key, stored] of changed) addRow(rows, table, { key, stored, generation: generations.get(key) });
    }
    return rows;
  }

  #set(table: TableName, key: string, stored: Stored<unknown> | undefined): void {
    let changed = this.#rows.get(table);
    if (!changed) this.#rows.set(table, (changed = new Map()));
    changed.set(key, stored as Stored<never> | undefined);
  }
}

/** The key and the row of a line 'usage <key> <row>'. */
function splitLine(line: string): [key: string, text: string] {
  const from = line.indexOf(' ') + 1;
  const to = line.indexOf(' ', from);
  return [line.slice(from, to), line.slice(to + 1)];
}
