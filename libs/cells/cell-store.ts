import type { CellRecord } from '../domain/cells/cell-summary';
import type { RedisClient } from '../redis/connect';

/** Operators' settings of cells, as the top keeps them. A cell without a record is enabled. Throws `unavailable`. */
export interface CellStore {
  listCells(): Promise<CellRecord[]>;
  /** The last word counts. */
  putCell(record: CellRecord): Promise<void>;
  close(): Promise<void>;
}

/** Among the services of one process. */
export function memoryCellStore(): CellStore {
  const cells = new Map<string, CellRecord>();
  return {
    async listCells() {
      return [...cells.values()];
    },
    async putCell(record) {
      cells.set(record.name, record);
    },
    async close() {},
  };
}

/** One hash of the top's: cell → JSON. */
export function redisCellStore(client: RedisClient, top: string): CellStore {
  const key = `{${top}}:cells`;
  return {
    async listCells() {
      return (await client.run((redis) => redis.hvals(key))).map((text) => JSON.parse(text) as CellRecord);
    },
    async putCell(record) {
      await client.run((redis) => redis.hset(key, record.name, JSON.stringify(record)));
    },
    close: () => client.close(),
  };
}
