import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { natural } from '../../api/natural-order';
import { Empty } from './parts';

export interface Column<T> {
  readonly key: string;
  readonly head: string;
  /** Head of the column in place of the words of `head`. */
  readonly headCell?: ComponentChildren;
  /** A value of CSS grid-template-columns. */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Sort key of its head. */
  readonly sortBy?: (row: T) => string | number;
  readonly isNumber?: boolean;
}

export interface Sorting {
  readonly key: string;
  readonly isDescending: boolean;
}

const ROW_HEIGHT = 30;
const BEYOND = 8;

/** A table of any length; only the visible rows are in the document. */
export function VirtualTable<T>({
  label,
  columns,
  rows,
  keyOf,
  sorting,
  onSort,
  height,
  empty,
}: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  sorting?: Sorting;
  onSort?: (sorting: Sorting) => void;
  /** A CSS height: the maximum, if its rows need more. */
  height: string;
  /** The sentence in place of a table without rows. */
  empty: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const hasRows = rows.length > 0;
  const view = useViewport(box, hasRows);
  const by = columns.find(({ key }) => key === sorting?.key)?.sortBy;
  const isDescending = sorting?.isDescending ?? false;
  // Scrolling redraws, but must not sort again.
  const sorted = useMemo(() => sortRows(rows, by, isDescending), [rows, sorting?.key, isDescending]);
  const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - BEYOND);
  const last = Math.min(sorted.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + BEYOND);
  if (!hasRows) return <Empty>{empty}</Empty>;
  return (
    <div
      class="vtable"
      role="table"
      aria-label={label}
      aria-rowcount={sorted.length + 1}
      ref={box}
      style={{ maxHeight: height }}
      tabIndex={0}
    >
      <div class="vtable-head" role="row" aria-rowindex={1} style={templateOf(columns)}>
        {columns.map((column) => (
          <Head key={column.key} column={column} sorting={sorting} onSort={onSort} />
        ))}
      </div>
      <div role="rowgroup" class="vtable-body" style={{ height: `${sorted.length * ROW_HEIGHT}px` }}>
        {sorted.slice(first, last).map((row, i) => (
          <Row key={keyOf(row)} row={row} columns={columns} place={first + i} />
        ))}
      </div>
    </div>
  );
}

/** A row at its place in the order; scrolling past it draws it once. */
function Row<T>({ row, columns, place }: { row: T; columns: readonly Column<T>[]; place: number }) {
  return useMemo(
    () => (
      <div
        class="vtable-row"
        role="row"
        aria-rowindex={place + 2}
        style={{ ...templateOf(columns), transform: `translateY(${place * ROW_HEIGHT}px)` }}
      >
        {columns.map(({ key, cell, isNumber }) => (
          <div key={key} role="cell" class={isNumber ? 'num' : ''}>
            {cell(row)}
          </div>
        ))}
      </div>
    ),
    [row, columns, place],
  );
}

/** The visible part of a box that scrolls, pixels. */
function useViewport(box: RefObject<HTMLElement | null>, isShown: boolean) {
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let frame = 0;
    const look = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setView({ top: element.scrollTop, height: element.clientHeight });
      });
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
      cancelAnimationFrame(frame);
    };
  }, [isShown]);
  return view;
}

function Head<T>({
  column,
  sorting,
  onSort,
}: {
  column: Column<T>;
  sorting: Sorting | undefined;
  onSort: ((sorting: Sorting) => void) | undefined;
}) {
  const { key, head, headCell, sortBy, isNumber } = column;
  const isSorted = sorting?.key === key;
  const order = !isSorted ? 'none' : sorting.isDescending ? 'descending' : 'ascending';
  if (sortBy === undefined || onSort === undefined) {
    return (
      <div role="columnheader" class={isNumber ? 'num' : ''}>
        {headCell ?? head}
      </div>
    );
  }
  return (
    <div role="columnheader" aria-sort={order} class={isNumber ? 'num' : ''}>
      <button
        type="button"
        class="sort"
        onClick={() => onSort({ key, isDescending: isSorted && !sorting.isDescending })}
      >
        {head}
        <span aria-hidden="true">{!isSorted ? '' : sorting.isDescending ? ' ▾' : ' ▴'}</span>
      </button>
    </div>
  );
}

/** The widths of columns; a narrower table scrolls sideways. */
function templateOf<T>(columns: readonly Column<T>[]) {
  const rems = columns.reduce((sum, { width }) => sum + Number(/([\d.]+)rem/.exec(width)?.[1] ?? 0), 0);
  return {
    gridTemplateColumns: columns.map(({ width }) => width).join(' '),
    minWidth: `calc(${rems}rem + ${columns.length * 12 + 12}px)`,
  };
}

function sortRows<T>(
  rows: readonly T[],
  by: ((row: T) => string | number) | undefined,
  isDescending: boolean,
): readonly T[] {
  if (by === undefined) return rows;
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [by(a), by(b)];
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : natural.compare(String(x), String(y)));
  });
}
