import type { ComponentChildren } from 'preact';

export interface TableColumn<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
  /** True for the column that names its row. */
  readonly isName?: boolean;
  /** Class of its cells. */
  readonly kind?: string;
}

/** A short table: all of its rows are in the document. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  kind = '',
  kindOf,
}: {
  /** Its name for screen readers, where no heading stands above. */
  caption?: string;
  columns: readonly TableColumn<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** Class of the table. */
  kind?: string;
  /** Class of a row. */
  kindOf?: (row: T) => string;
}) {
  return (
    <table class={`simple ${kind}`}>
      {caption !== undefined && <caption class="visually-hidden">{caption}</caption>}
      <thead>
        <tr>
          {columns.map(({ head, isNumber }) => (
            <th key={head} scope="col" class={isNumber ? 'num' : ''}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={kindOf?.(row)}>
            {columns.map(({ head, cell, isNumber, isName, kind: its = '' }) =>
              isName ? (
                <th key={head} scope="row">
                  {cell(row)}
                </th>
              ) : (
                <td key={head} class={isNumber ? 'num' : its}>
                  {cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
