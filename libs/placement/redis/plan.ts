import type { Stored, TableName, Tables } from '../commands/tables';
import { type Guard, isCommit, type Transaction, type Write } from '../commands/transaction';
import { encodeBody, encodeClaim, encodeInventories, headOf } from './cells';

/** A transaction as `lua/commit.lua` takes it. */
export function encodePlan({ guards, writes }: Transaction): string {
  return JSON.stringify({
    guards: guards.flatMap((guard) => (guard.kind === 'row' ? [[guard.table, guard.key, guardedHead(guard)]] : [])),
    counts: guards.flatMap((guard) => (guard.kind === 'count' ? [[guard.name, guard.count]] : [])),
    silent: guards.flatMap((guard) => (guard.kind === 'silent' ? [[guard.host, guard.silentSinceMs]] : [])),
    writes: writes.flatMap(encodeWrite),
    commits: isCommit(writes),
  });
}

/** How the cell must begin: with the revision that was read. Sequences have none, so all of it counts. */
function guardedHead({ table, stored }: Extract<Guard, { kind: 'row' }>): string | false {
  if (!stored) return false;
  return table === 'sequence' ? sequenceCell(stored as Stored<Tables['sequence']>) : headOf(stored.revision);
}

function sequenceCell({ row }: { readonly row: Tables['sequence'] }): string {
  return `0 ${encodeBody('sequence', row)}`;
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

function encodePut<T extends TableName>(table: T, key: string, row: Tables[T]): [string, string, string, string][] {
  if (table === 'sequence') return [['raw', table, key, sequenceCell({ row: row as Tables['sequence'] })]];
  const put: [string, string, string, string] = ['put', table, key, encodeBody(table, row)];
  if (table !== 'provider') return [put];
  // Claims read the inventories alone.
  return [put, ['raw', 'inventory', key, encodeInventories((row as Tables['provider']).inventories)]];
}
