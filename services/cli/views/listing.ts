import { Command, Option } from '@commander-js/extra-typings';
import { sleep } from '#libs/domain/clock';
import type { Context } from '../context';
import { table } from './table';

/** A column of a table; `isWide` for one that only `--output wide` shows. */
export interface Column<T> {
  readonly head: string;
  cell(item: T): string | number;
  readonly isWide?: boolean;
}

/** How things of a kind are listed. */
export interface Listing<T> {
  readonly columns: readonly Column<T>[];
  /** What other commands know it by. */
  nameOf(item: T): string;
  /** What programs get of it; all when not given. */
  plainOf?(item: T): unknown;
}

/** What `listCommandNamed` has parsed. */
export interface ListFlags {
  readonly output: (typeof FORMS)[number];
  readonly json: boolean;
  readonly watch: boolean;
}

const FORMS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
const WATCH_MS = 2_000;

/** A command that lists: with `--output`, `--json` and `--watch`. */
export function listingCommand(name: string) {
  return new Command(name)
    .addOption(new Option('-o, --output <form>', 'how').choices(FORMS).default('table' as const))
    .option('--json', 'print one JSON value: --output json', false)
    .option('--watch', 'again every two seconds, until Ctrl-C', false);
}

/** Reads items and shows them as the flags say, once or again and again. */
export async function showListing<T>(
  { terminal, clock, interrupted }: Context,
  flags: ListFlags,
  listing: Listing<T>,
  read: () => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const { screen } = terminal;
  const form = flags.json ? 'json' : flags.output;
  const isDrawn = flags.watch && screen !== undefined && (form === 'table' || form === 'wide');
  for (;;) {
    const items = await read();
    if (isDrawn) screen.draw(asTable(form, items).split('\n'));
    else if (form === 'json') terminal.json(items.map(plain));
    else terminal.print(await asText(form, items));
    if (!flags.watch) return items;
    try {
      await sleep(clock, WATCH_MS, interrupted);
    } finally {
      if (interrupted.aborted) screen?.end();
    }
    if (interrupted.aborted) return items;
  }

  async function asText(shown: ListFlags['output'], items: readonly T[]): Promise<string> {
    if (shown === 'name') return items.map((item) => listing.nameOf(item)).join('\n');
    if (shown !== 'yaml') return asTable(shown, items);
    const { stringify } = await import('yaml');
    return stringify(items.map(plain)).trimEnd();
  }

  function asTable(shown: ListFlags['output'], items: readonly T[]): string {
    const columns = listing.columns.filter(({ isWide = false }) => !isWide || shown === 'wide');
    const rows = items.map((item) => columns.map((column) => column.cell(item)));
    return table(
      terminal,
      columns.map(({ head }) => head),
      rows,
    );
  }

  function plain(item: T): unknown {
    return listing.plainOf ? listing.plainOf(item) : item;
  }
}
