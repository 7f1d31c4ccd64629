import { createPool, type RowDataPacket } from 'mysql2/promise';

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export type Row = Readonly<Record<string, unknown>>;

/** A database of MySQL or MariaDB that is only read. */
export interface ReadDatabase {
  rows(sql: string, values?: readonly (string | number)[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

const CONNECTIONS = 2;

/** Connects when it is first read, and again when a connection is lost. @param timeoutMs  of a connection, and of a query */
export function openDatabase(address: DatabaseAddress, timeoutMs: number): ReadDatabase {
  const pool = createPool({ ...address, connectionLimit: CONNECTIONS, connectTimeout: timeoutMs, dateStrings: true });
  // Nothing is written, also by mistake with a user that may. An error ends the connection, so the query after it fails.
  pool.pool.on('connection', (connection) => connection.query('set session transaction read only', () => {}));
  return {
    async rows(sql, values = []) {
      const [rows] = await pool.query<RowDataPacket[]>({ sql, values: [...values], timeout: timeoutMs });
      return rows;
    },
    close: () => pool.end(),
  };
}
