import { Option } from '@commander-js/extra-typings';
import { type AnswerFlags, answerCommand, showAnswer } from '../answers/answer';
import type { Context } from '../context';
import { type Cell, type Narrowing, table } from './table';

/** A column of a table; `isWide` columns appear only with `--output wide`, `spare` ones not on a narrow terminal. */
export interface Column<T> {
  readonly head: string;
  cell(item: T): Cell;
  readonly isWide?: boolean;
  readonly spare?: 'first' | 'last';
}

/** The table of one kind of thing. */
export interface Listing<T> {
  readonly columns: readonly Column<T>[];
  /** The name that other commands accept. */
  nameOf(item: T): string;
  /** The form for programs; default: the item itself. */
  plainOf?(item: T): unknown;
  /** Text for people when the list is empty; default: a table without rows. */
  readonly whenNone?: string;
  /** Keys for `--sort-by` besides `name`. */
  readonly sorts?: Sorts<T>;
}

/** Sort keys: text, or a number, the smallest first. */
export type Sorts<T> = Readonly<Record<string, (item: T) => string | number>>;

/** Parsed flags of `listingCommand`. */
export interface ListFlags extends AnswerFlags, SortFlags {
  readonly watch: boolean;
}

/** Parsed flags of `withSorting`. */
export interface SortFlags {
  readonly sortBy?: string | undefined;
  readonly reverse: boolean;
}

/** A command with a list: adds `--output`, `--json`, `--sort-by`, `--reverse` and `--watch`. */
export function listingCommand<T>(name: string, { sorts = {} }: Pick<Listing<T>, 'sorts'> = {}) {
  const by = new Option('--sort-by <what>', "age: the youngest first; else in the service's order");
  return answerCommand(name)
    .addOption(by.choices(['name', ...Object.keys(sorts)]))
    .option('--reverse', 'reverse the order', false)
    .option('--watch', 'repeat every two seconds, until Ctrl-C', false);
}

/** Reads items and shows them in the form of the flags, once or repeatedly; returns the last ones. */
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
        const places = (spare: 'first' | 'last') =>
          columns.flatMap((column, place) => (column.spare === spare ? [place] : []));
        const narrowing: Narrowing = { first: places('first'), last: places('last'), cuts: true };
        terminal.print(table(terminal, head, rows, isWide ? {} : narrowing));
      },
    };
  });
  return items;
}

/** In the order of the flags; unchanged by default. */
export function sorted<T>(
  items: readonly T[],
  { sortBy, reverse }: SortFlags,
  { nameOf, sorts = {} }: Pick<Listing<T>, 'nameOf' | 'sorts'>,
): readonly T[] {
  const key = sortBy === 'name' ? nameOf : sorts[sortBy ?? ''];
  const inOrder = key === undefined ? items : items.toSorted((a, b) => compareKeys(key(a), key(b)));
  return reverse ? inOrder.toReversed() : inOrder;
}

/** Numbers by size, text in natural order: `host-9` before `host-10`. */
function compareKeys(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
