import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Words of a command, as Redis logged it. */
export type LoggedCommand = readonly string[];

const FOLDER = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
/** Bytes of a snapshot without keys, at most. */
const EMPTY_SNAPSHOT_BYTES = 256;

/**
 * Effects on a Redis 7 in order, one list of commands for each transaction or script. A torn end is left out.
 *
 * @param folder  the server's `dir`
 * @returns undefined without an append-only file, or when it begins with a snapshot of earlier effects
 */
export function readAppendOnlyFile(folder: string): LoggedCommand[][] | undefined {
  const manifest = join(folder, FOLDER, MANIFEST);
  if (!existsSync(manifest)) return undefined;
  const lines = readFileSync(manifest, 'utf8').split('\n').filter(Boolean);
  const files = lines.map((line) => {
    const [, name = '', , sequence, , kind] = line.split(' ');
    return { path: join(folder, FOLDER, name), sequence, kind };
  });
  const snapshot = files.find(({ kind }) => kind === 'b');
  if (snapshot && (snapshot.sequence !== '1' || statSync(snapshot.path).size > EMPTY_SNAPSHOT_BYTES)) return undefined;
  const logs = files.filter(({ kind }) => kind === 'i');
  return logs.flatMap(({ path }) => inTransactions(commandsOf(readFileSync(path))));
}

function inTransactions(commands: Iterable<LoggedCommand>): LoggedCommand[][] {
  const transactions: LoggedCommand[][] = [];
  let open: LoggedCommand[] | undefined;
  for (const command of commands) {
    const name = command[0]?.toUpperCase();
    if (name === 'MULTI') open = [];
    else if (name !== 'EXEC') {
      if (open) open.push(command);
      else transactions.push([command]);
    } else {
      if (open) transactions.push(open);
      open = undefined;
    }
  }
  return transactions;
}

/** Commands in Redis' protocol: `*<words>`, then for each word `$<bytes>` and its bytes. */
function* commandsOf(log: Buffer): Generator<LoggedCommand> {
  let at = 0;
  const line = (): string | undefined => {
    const end = log.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const text = log.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  for (let head = line(); head?.startsWith('*'); head = line()) {
    const words: string[] = [];
    const count = Number(head.slice(1));
    while (words.length < count) {
      const length = Number(line()?.slice(1) ?? Number.NaN);
      if (!(at + length + 2 <= log.length)) return;
      words.push(log.toString('utf8', at, at + length));
      at += length + 2;
    }
    yield words;
  }
}
