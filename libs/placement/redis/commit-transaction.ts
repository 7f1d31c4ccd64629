import type { RedisClient } from '../../redis/connect';
import type { LuaScript } from '../../redis/scripts';
import type { Stored, TableName, Tables } from '../commands/tables';
import { type Conflict, type Guard, isCommit, type Transaction, type Write } from '../commands/transaction';
import type { CommitResult } from '../port/placement-store';
import { decodeChange } from './change-record';
import type { Keys } from './keys';
import { encodeClaim, encodeContent, encodeInventories, headOf } from './row-format';
import type { SeenRevisions } from './seen-revisions';

/** What `lua/commit.lua` returns. */
type CommitReply = ['committed', revision: string, claimToken: string, rows: string] | ['unchanged'] | ['conflict'];

/** The facts that each write gives the store beside what it writes. */
export interface WriterFacts {
  /** About how many changes the stream keeps. */
  readonly streamLength: number;
  readonly seen: Pick<SeenRevisions, 'highest'>;
}

/** Commits one transaction, or finds that a guard of it does not hold. */
export type CommitTransaction = (
  tx: Transaction,
) => Promise<Extract<CommitResult, { kind: 'committed' | 'unchanged' }> | Conflict>;

/** @returns what commits a transaction in one run of `lua/commit.lua`; it throws BerthError as `RedisClient.run` */
export function commitTransaction(
  client: RedisClient,
  script: LuaScript,
  k: Keys,
  { streamLength, seen }: WriterFacts,
): CommitTransaction {
  const tables = [k.provider, k.usage, k.inventory, k.host, k.consumer, k.resource_class, k.trait, k.name, k.tree];
  const keys = [
    k.revision,
    k.changes,
    k.heartbeats,
    k.counters,
    ...tables,
    k.sequence,
    k.claimToken,
    k.birth,
    k.holder,
    k.quota,
    k.cohort,
    k.project_usage,
    k.project_days,
    k.aggregate,
    k.server_group,
    k.lease,
    k.nomination,
  ];
  return async (tx) => {
    const reply = (await client.runScript(script, keys, [
      streamLength,
      encodeTransaction(tx),
      seen.highest,
    ])) as CommitReply;
    if (reply[0] !== 'committed') return { kind: reply[0] };
    const [kind, revision, claimToken, rows] = reply;
    return { kind, change: decodeChange(Number(revision), rows), claimToken: Number(claimToken) };
  };
}

function encodeTransaction({ guards, writes }: Transaction): string {
  return JSON.stringify({
    guards: guards.flatMap((guard) => (guard.kind === 'row' ? [[guard.table, guard.key, guardedHead(guard)]] : [])),
    counts: guards.flatMap((guard) => (guard.kind === 'count' ? [[guard.name, guard.count]] : [])),
    silent: guards.flatMap((guard) => (guard.kind === 'silent' ? [[guard.host, guard.silentSinceMs]] : [])),
    writes: writes.flatMap(encodeWrite),
    commits: isCommit(writes),
  });
}

/** How the row text must begin: with the revision that was read. Sequences have none, so all that was read counts. */
function guardedHead({ table, stored }: Extract<Guard, { kind: 'row' }>): string | false {
  if (!stored) return false;
  if (table !== 'sequence') return headOf(stored.revision);
  return headOf(0) + encodeContent(table, (stored as Stored<Tables['sequence']>).row);
}

function encodeWrite(write: Write): readonly (readonly (string | number)[])[] {
  switch (write.kind) {
    case 'put':
      return encodePut(write.table, write.key, write.row);
    case 'claim':
      return [['claim', 'consumer', write.key, encodeClaim(write.row)]];
    case 'delete':
      return write.table === 'provider'
        ? [
            ['delete', 'provider', write.key],
            ['delete', 'inventory', write.key],
          ]
        : [['delete', write.table, write.key]];
    case 'raise':
    case 'show':
      return [[write.kind, 'usage', write.key]];
    case 'count':
      return [['count', write.name, write.by]];
    case 'beat':
      return [['beat', write.host, write.atMs]];
    case 'mute':
      return [['mute', write.host]];
  }
}

function encodePut<T extends TableName>(table: T, key: string, row: Tables[T]): string[][] {
  const content = encodeContent(table, row);
  if (table === 'sequence') return [['report', key, content, (row as Tables['sequence']).providerUuids.join(' ')]];
  if (table !== 'provider') return [['put', table, key, content]];
  // Claims read the inventories alone.
  const inventories = encodeInventories((row as Tables['provider']).inventories);
  return [
    ['put', table, key, content],
    ['inventories', key, inventories],
  ];
}
