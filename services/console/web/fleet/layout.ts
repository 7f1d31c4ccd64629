import type { HostGroup } from './groups';

/** A group of cells on the map; pixels from its top left corner. */
export interface Block {
  readonly group: HostGroup;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly columns: number;
}

export interface MapLayout {
  /** Edge of a cell with its gap. */
  readonly cell: number;
  readonly blocks: readonly Block[];
  readonly height: number;
}

export const LABEL_HEIGHT = 20;
const GAP = 14;
const SMALLEST = 5;
const LARGEST = 64;
/** Fits a readable label. */
const MIN_BLOCK_WIDTH = 84;

/** Aspect ratios to try for groups. */
const SHAPES = [2.2, 4, 8, 20];

/**
 * Lays groups out beside and below each other, like words in lines. Without a zoom the cells are as large as the
 * viewport allows, with the aspect ratio that allows most.
 *
 * @param zoom  1 fits; 2 doubles the edges
 */
export function layOut(groups: readonly HostGroup[], width: number, height: number, zoom: number): MapLayout {
  for (let cell = LARGEST; cell >= SMALLEST; cell--) {
    const shape = SHAPES.find((one) => place(groups, width, cell, one).height <= height);
    if (shape !== undefined) return place(groups, width, Math.round(cell * zoom), shape);
  }
  return place(groups, width, Math.round(SMALLEST * zoom), SHAPES[0] as number);
}

function place(groups: readonly HostGroup[], width: number, cell: number, shape: number): MapLayout {
  const blocks: Block[] = [];
  let [x, y, lineHeight] = [0, 0, 0];
  const mostColumns = Math.max(1, Math.floor(width / cell));
  for (const group of groups) {
    const count = group.hosts.length;
    // A single group takes the whole width.
    const wanted = groups.length === 1 ? mostColumns : Math.ceil(Math.sqrt(count * shape));
    const columns = Math.min(mostColumns, Math.max(wanted, Math.ceil(MIN_BLOCK_WIDTH / cell)));
    const blockWidth = columns * cell;
    const blockHeight = LABEL_HEIGHT + Math.ceil(count / columns) * cell;
    if (x > 0 && x + blockWidth > width) {
      x = 0;
      y += lineHeight + GAP;
      lineHeight = 0;
    }
    blocks.push({ group, x, y, width: blockWidth, height: blockHeight, columns });
    x += blockWidth + GAP;
    lineHeight = Math.max(lineHeight, blockHeight);
  }
  return { cell, blocks, height: y + lineHeight };
}

/** The block, and the index in it, of the cell at a point; undefined without one. */
export function cellAt({ blocks, cell }: MapLayout, x: number, y: number): { block: Block; index: number } | undefined {
  for (const block of blocks) {
    const [dx, dy] = [x - block.x, y - block.y - LABEL_HEIGHT];
    if (dx < 0 || dy < 0 || dx >= block.width || y >= block.y + block.height) continue;
    const index = Math.floor(dy / cell) * block.columns + Math.floor(dx / cell);
    return index < block.group.hosts.length ? { block, index } : undefined;
  }
  return undefined;
}

/** The top left corner of a cell. */
export function cornerOf({ cell }: MapLayout, block: Block, index: number): { x: number; y: number } {
  const [row, column] = [Math.floor(index / block.columns), index % block.columns];
  return { x: block.x + column * cell, y: block.y + LABEL_HEIGHT + row * cell };
}
