import { Option } from '@commander-js/extra-typings';
import { type AnswerFlags, answerCommand, showAnswer } from '../answers/answer';
import type { Context } from '../context';
import { type Gauge, type SpareColumns, table } from './table';

/** A column of a table; `isWide` for one that only `--output wide` shows, `spare` for one that a narrow terminal goes without. */
export interface Column<T> {
  readonly head: string;
  cell(item: T): string | number | Gauge;
  readonly isWide?: boolean;
  readonly spare?: keyof SpareColumns;
}

/** How things of a kind are listed. */
export interface Listing<T> {
  readonly columns: readonly Column<T>[];
  /** What other commands know it by. */
  nameOf(item: T): string;
  /** What programs get of it; all when not given. */
  plainOf?(item: T): unknown;
  /** What people are told when there is nothing; a table without rows when not given. */
  readonly whenNone?: string;
  /** What `--sort-by` takes besides `name`. */
  readonly sorts?: Sorts<T>;
}

/** What things are sorted by: text, or a number, the smallest first. */
export type Sorts<T> = Readonly<Record<string, (item: T) => string | number>>;

/** What `listingCommand` has parsed. */
export interface ListFlags extends AnswerFlags, SortFlags {
  readonly watch: boolean;
}

/** What `withSorting` has parsed. */
export interface SortFlags {
  readonly sortBy?: string | undefined;
  readonly reverse: boolean;
}

/** A command that lists: with `--output`, `--json`, `--sort-by`, `--reverse` and `--watch`. */
export function listingCommand<T>(name: string, { sorts = {} }: Pick<Listing<T>, 'sorts'> = {}) {
  const by = new Option('--sort-by <what>', "age: the youngest first; else in the service's order");
  return answerCommand(name)
    .addOption(by.choices(['name', ...Object.keys(sorts)]))
    .option('--reverse', 'the other way round', false)
    .option('--watch', 'again every two seconds, until Ctrl-C', false);
}

/** Reads items and shows them as the flags say, once or again and again; those that were read last. */
export async function showListing<T>(
  context: Context,
  flags: ListFlags,
  listing: Listing<T>,
  read: () => Promise<readonly T[]>,
): Promise<readonly T[]> {
  let items: readonly T[] = [];
  await showAnswer(context, flags, async () => {
    items = sorted(await read(), flags, listing);
    const shown = items;
    return {
      plain: shown.map((item) => (listing.plainOf ? listing.plainOf(item) : item)),
      names: shown.map((item) => listing.nameOf(item)),
      draw(terminal, isWide) {
        if (shown.length === 0 && listing.whenNone !== undefined) return terminal.print(listing.whenNone);
        const columns = listing.columns.filter((column) => isWide || !column.isWide);
        const head = columns.map((column) => column.head);
        const rows = shown.map((item) => columns.map((column) => column.cell(item)));
        const places = (spare: keyof SpareColumns) =>
          columns.flatMap((column, place) => (column.spare === spare ? [place] : []));
        terminal.print(table(terminal, head, rows, isWide ? {} : { first: places('first'), last: places('last') }));
      },
    };
  });
  return items;
}

/** In the order that the flags ask for; as they are when none is asked for. */
export function sorted<T>(
  items: readonly T[],
  { sortBy, reverse }: SortFlags,
  { nameOf, sorts = {} }: Pick<Listing<T>, 'nameOf' | 'sorts'>,
): readonly T[] {
  const key = sortBy === 'name' ? nameOf : sorts[sortBy ?? ''];
  const inOrder = key === undefined ? items : items.toSorted((a, b) => compareKeys(key(a), key(b)));
  return reverse ? inOrder.toReversed() : inOrder;
}

/** Numbers by size, text as people count: `host-9` before `host-10`. */
function compareKeys(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
