import type { LoggedCommand } from './append-only-file';

/** Effects of one transaction on one cell: rows by table, as the store's keys name it. */
export interface CellEffects {
  readonly cell: string;
  /** Fields that were written, or strings that were set, by key. */
  readonly puts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Fields that were removed, by key; no fields where the whole key was. */
  readonly removals: ReadonlyMap<string, readonly string[]>;
  /** The change that went to the stream. */
  readonly change: { readonly revision: number; readonly text: string } | undefined;
  /** Claim token of its last commit. */
  readonly claimToken: number | undefined;
  /** Leases of tasks that were taken or renewed: holder (undefined: the same) and end, by task. */
  readonly tasks: ReadonlyMap<string, { readonly holder: string | undefined; readonly untilMs: number }>;
}

const TASK = 'lease:';

/** Effects of a transaction by cell; `everything` when it emptied the store. */
export function effectsOf(transaction: readonly LoggedCommand[]): CellEffects[] | 'everything' {
  const cells = new Map<string, Draft>();
  for (const [command = '', key = '', ...args] of transaction) {
    const name = command.toUpperCase();
    if (name === 'FLUSHALL' || name === 'FLUSHDB') return 'everything';
    const [, cell, table] = /^\{(.+?)\}:(.*)$/s.exec(key) ?? [];
    if (cell === undefined || table === undefined) continue;
    let draft = cells.get(cell);
    if (!draft) cells.set(cell, (draft = newDraft(cell)));
    add(draft, name, table, args);
  }
  return [...cells.values()];
}

interface Draft extends CellEffects {
  readonly puts: Map<string, Map<string, string>>;
  readonly removals: Map<string, string[]>;
  readonly tasks: Map<string, { holder: string | undefined; untilMs: number }>;
  change: CellEffects['change'];
  claimToken: number | undefined;
}

function newDraft(cell: string): Draft {
  return { cell, puts: new Map(), removals: new Map(), change: undefined, claimToken: undefined, tasks: new Map() };
}

function add(draft: Draft, name: string, table: string, args: readonly string[]): void {
  const [first = '', second = ''] = args;
  switch (name) {
    case 'HSET':
    case 'HMSET': {
      const fields = draft.puts.get(table) ?? new Map<string, string>();
      for (let n = 0; n < args.length; n += 2) fields.set(args[n] as string, args[n + 1] as string);
      draft.puts.set(table, fields);
      return;
    }
    case 'HDEL':
      draft.removals.set(table, [...(draft.removals.get(table) ?? []), ...args]);
      return;
    case 'DEL':
    case 'UNLINK':
      draft.removals.set(table, []);
      return;
    case 'SET':
      if (table === 'claim-token') draft.claimToken = Number(first);
      if (table.startsWith(TASK))
        draft.tasks.set(table.slice(TASK.length), { holder: first, untilMs: Number(args[2]) });
      return;
    case 'PEXPIREAT':
      if (table.startsWith(TASK))
        draft.tasks.set(table.slice(TASK.length), { holder: undefined, untilMs: Number(first) });
      return;
    case 'XADD':
      if (table === 'changes') draft.change = { revision: revisionOf(args), text: args.at(-1) ?? second };
      return;
    default:
  }
}

/** Revision in `MAXLEN ~ N <revision>-0 rows <text>`. */
function revisionOf(args: readonly string[]): number {
  return Number.parseInt(args.at(-3) ?? '', 10);
}
