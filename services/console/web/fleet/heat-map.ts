import { FLAGS, type FleetHost } from '../../api/fleet';
import { colourAt, type Measure, scaleOf } from './colours';
import { type Block, cornerOf, LABEL_HEIGHT, type MapLayout } from './layout';

/** The theme's colours for the map. */
interface Palette {
  readonly fill: readonly string[];
  readonly alarm: readonly string[];
  readonly none: string;
  readonly text: string;
  readonly faint: string;
  readonly mark: string;
  readonly rim: string;
  readonly down: string;
  readonly onLight: string;
  readonly onDark: string;
  readonly landed: string;
  readonly failed: string;
  readonly focus: string;
}

interface Flash {
  readonly host: string;
  readonly isLanding: boolean;
  readonly startMs: number;
}

const FLASH_MS = 900;
const MAX_FLASHES = 400;
const LARGEST_MARK = 26;
/** Cells from this size on show their hosts' names. */
const NAMED_SIZE = 34;
const NAME_FONT = '10px system-ui, sans-serif';
const FONT = '600 11px system-ui, sans-serif';

/**
 * Draws hosts as cells on a canvas of the viewport's size; cells outside it are skipped. Flashes of landing builds are
 * on a second canvas above, so that they never redraw the map.
 */
export class HeatMap {
  #layout: MapLayout = { cell: 1, blocks: [], height: 0 };
  #places = new Map<string, { block: Block; index: number }[]>();
  #scrollTop = 0;
  /** Length of the common prefix, which cells omit. */
  #prefixLength = 0;
  #palette: Palette;
  #flashes: Flash[] = [];
  #frame = 0;
  #cursor: string | undefined;
  measure: Measure | undefined;
  nowMs = 0;

  constructor(
    private readonly map: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
    private readonly hosts: ReadonlyMap<string, FleetHost>,
  ) {
    this.#palette = readPalette(map);
  }

  get layout(): MapLayout {
    return this.#layout;
  }

  /** Redraws after a change of the theme. */
  repaint(): void {
    this.#palette = readPalette(this.map);
    this.drawAll();
  }

  resize(width: number, height: number): void {
    for (const canvas of [this.map, this.overlay]) {
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
  }

  setLayout(layout: MapLayout): void {
    this.#layout = layout;
    this.#prefixLength = commonPrefix(layout.blocks.flatMap(({ group }) => group.hosts.map(({ name }) => name)));
    this.#places = new Map();
    for (const block of layout.blocks) {
      for (const [index, { name }] of block.group.hosts.entries()) {
        const places = this.#places.get(name);
        if (places === undefined) this.#places.set(name, [{ block, index }]);
        else places.push({ block, index });
      }
    }
    this.drawAll();
  }

  scrollTo(top: number): void {
    this.#scrollTop = top;
    this.drawAll();
  }

  /** The first place of a host, from the top of the whole map. */
  placeOf(host: string): { x: number; y: number } | undefined {
    const [place] = this.#places.get(host) ?? [];
    return place && cornerOf(this.#layout, place.block, place.index);
  }

  setCursor(host: string | undefined): void {
    if (this.#cursor === host) return;
    this.#cursor = host;
    this.#animate();
  }

  drawAll(): void {
    const context = this.#context(this.map);
    const { height } = this.map.getBoundingClientRect();
    const { cell } = this.#layout;
    context.clearRect(0, 0, this.map.width, this.map.height);
    for (const block of this.#layout.blocks) {
      const top = block.y - this.#scrollTop;
      if (top > height || top + block.height < 0) continue;
      this.#drawLabel(context, block, top);
      const firstRow = Math.max(0, Math.floor((-top - LABEL_HEIGHT) / cell));
      const lastRow = Math.ceil((height - top - LABEL_HEIGHT) / cell);
      const [from, to] = [firstRow * block.columns, Math.min(block.group.hosts.length, (lastRow + 1) * block.columns)];
      for (let i = from; i < to; i++) this.#drawCell(context, block, i);
    }
    this.#animate();
  }

  /** Redraws some hosts in place. */
  drawSome(names: Iterable<string>): void {
    const context = this.#context(this.map);
    for (const name of names) {
      for (const { block, index } of this.#places.get(name) ?? []) this.#drawCell(context, block, index);
    }
  }

  flash(landed: readonly string[], failed: readonly string[]): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const startMs = performance.now();
    const flashes = [
      ...landed.map((host) => ({ host, isLanding: true, startMs })),
      ...failed.map((host) => ({ host, isLanding: false, startMs })),
    ];
    this.#flashes = [...this.#flashes, ...flashes].slice(-MAX_FLASHES);
    this.#animate();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
  }

  #context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    return context;
  }

  #drawLabel(context: CanvasRenderingContext2D, { group, x, width }: Block, top: number): void {
    context.font = FONT;
    context.textBaseline = 'middle';
    const count = ` ${group.hosts.length}`;
    const countWidth = context.measureText(count).width;
    const label = clipped(context, group.label, width - countWidth);
    context.fillStyle = this.#palette.text;
    context.fillText(label, x, top + LABEL_HEIGHT / 2);
    context.fillStyle = this.#palette.faint;
    context.fillText(count, x + context.measureText(label).width, top + LABEL_HEIGHT / 2);
  }

  #drawCell(context: CanvasRenderingContext2D, block: Block, index: number): void {
    const name = block.group.hosts[index]?.name ?? '';
    const host = this.hosts.get(name);
    if (host === undefined) return;
    const corner = cornerOf(this.#layout, block, index);
    const [x, y, size] = [corner.x, corner.y - this.#scrollTop, this.#layout.cell - (this.#layout.cell > 8 ? 2 : 1)];
    const { measure } = this;
    const isDown = (host.flags & FLAGS.down) !== 0;
    const share = isDown ? undefined : measure?.share(host, this.nowMs);
    context.clearRect(x, y, size, size);
    context.fillStyle =
      share === undefined || measure === undefined ? this.#palette.none : colourAt(this.#palette[measure.scale], share);
    context.fillRect(x, y, size, size);
    const cell = { x, y, size };
    if (size >= NAMED_SIZE) this.#drawName(context, cell, name, share ?? 0);
    if (host.flags !== 0) drawMarks(context, cell, host.flags, this.#palette);
  }

  #drawName(context: CanvasRenderingContext2D, { x, y, size }: Square, name: string, share: number): void {
    context.font = NAME_FONT;
    context.textBaseline = 'alphabetic';
    context.fillStyle = this.measure?.scale === 'alarm' || share < 0.45 ? this.#palette.onLight : this.#palette.onDark;
    let shown = name.slice(this.#prefixLength);
    // Names differ at their ends.
    while (shown.length > 1 && context.measureText(shown).width > size - 8) shown = shown.slice(1);
    context.fillText(shown, x + 4, y + size - 5);
  }

  /** Draws flashes, and the cursor, until none is left. */
  #animate(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      const now = performance.now();
      const context = this.#context(this.overlay);
      context.clearRect(0, 0, this.overlay.width, this.overlay.height);
      this.#flashes = this.#flashes.filter(({ startMs }) => now - startMs < FLASH_MS);
      for (const { host, isLanding, startMs } of this.#flashes) {
        this.#outline(
          context,
          host,
          isLanding ? this.#palette.landed : this.#palette.failed,
          1 - (now - startMs) / FLASH_MS,
        );
      }
      if (this.#cursor !== undefined) this.#outline(context, this.#cursor, this.#palette.focus, 1);
      if (this.#flashes.length > 0) this.#animate();
    });
  }

  #outline(context: CanvasRenderingContext2D, host: string, colour: string, strength: number): void {
    const { cell } = this.#layout;
    for (const { block, index } of this.#places.get(host) ?? []) {
      const { x, y } = cornerOf(this.#layout, block, index);
      const grown = 1.5 + (1 - strength) * 4;
      context.globalAlpha = strength;
      context.lineWidth = 2;
      context.strokeStyle = colour;
      context.strokeRect(x - grown / 2, y - this.#scrollTop - grown / 2, cell - 2 + grown, cell - 2 + grown);
      context.globalAlpha = 1;
    }
  }
}

interface Square {
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

/** Conditions that make a host stand out, each with its own shape: colours alone are not accessible. */
export function drawMarks(
  context: CanvasRenderingContext2D,
  { x, y, size }: Square,
  flags: number,
  palette: Pick<Palette, 'mark' | 'rim' | 'down'>,
): void {
  // In large cells a mark leaves space for the name.
  const edge = Math.min(size, LARGEST_MARK);
  const inset = Math.max(1, edge * 0.2);
  const [left, top, right, bottom] = [x + inset, y + inset, x + edge - inset, y + edge - inset];
  const width = Math.max(1.25, edge / 9);
  const stroke = (colour: string, path: (c: CanvasRenderingContext2D) => void) => {
    context.beginPath();
    path(context);
    // A rim, for contrast on light cells and on dark ones.
    for (const [style, lineWidth] of [[palette.rim, width + 2] as const, [colour, width] as const]) {
      context.strokeStyle = style;
      context.lineWidth = lineWidth;
      context.stroke();
    }
  };
  if (flags & FLAGS.down) {
    stroke(palette.down, (c) => {
      c.moveTo(left, top);
      c.lineTo(right, bottom);
      c.moveTo(right, top);
      c.lineTo(left, bottom);
    });
  } else if (flags & FLAGS.draining) {
    stroke(palette.mark, (c) => {
      c.moveTo((left + right) / 2, top);
      c.lineTo((left + right) / 2, bottom);
      c.moveTo(left, (top + bottom) / 2);
      c.lineTo((left + right) / 2, bottom);
      c.lineTo(right, (top + bottom) / 2);
    });
  } else if (flags & FLAGS.disabled) {
    stroke(palette.mark, (c) => {
      c.moveTo(left, bottom);
      c.lineTo(right, top);
    });
  }
  if (flags & FLAGS.doubtful) {
    stroke(palette.mark, (c) => c.arc(x + edge / 2, y + edge / 2, edge / 2 - inset, 0, 2 * Math.PI));
  }
  if (flags & FLAGS.failing) {
    const corner = Math.max(3, edge * 0.45);
    context.fillStyle = palette.down;
    context.beginPath();
    context.moveTo(x + size - corner, y);
    context.lineTo(x + size, y);
    context.lineTo(x + size, y + corner);
    context.fill();
  }
}

/** The colours of the active theme. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const stops = (name: string) => colour(name).split(/\s+/);
  return {
    fill: scaleOf(stops('scale-fill')),
    alarm: scaleOf(stops('scale-alarm')),
    none: colour('cell-none'),
    text: colour('text'),
    faint: colour('text-faint'),
    mark: colour('cell-mark'),
    rim: colour('cell-rim'),
    down: colour('cell-down'),
    onLight: colour('cell-on-light'),
    onDark: colour('cell-on-dark'),
    landed: colour('good'),
    failed: colour('bad'),
    focus: colour('focus'),
  };
}

function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** The length of the names' common prefix, up to a separator. */
function commonPrefix(names: readonly string[]): number {
  const [first = ''] = names;
  let length = first.length;
  for (const name of names) while (length > 0 && !name.startsWith(first.slice(0, length))) length -= 1;
  return Math.max(first.lastIndexOf('-', length - 1), first.lastIndexOf('.', length - 1)) + 1;
}
