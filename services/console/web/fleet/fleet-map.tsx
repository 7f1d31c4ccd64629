import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { FLAG_NAMES, type FleetModel, flagsOf, type Redraw } from '../state/fleet-model';
import { serverNow } from '../state/stream';
import { useTheme } from '../state/theme';
import { plural } from '../ui/format';
import type { Measure } from './colours';
import type { HostGroup } from './groups';
import { HeatMap } from './heat-map';
import { type Block, cellAt, layOut } from './layout';

/** Ages change without events. */
const REDRAW_MS = 5_000;
const ZOOMS = [1, 1.5, 2, 3, 4];

interface Drawing {
  readonly model: FleetModel;
  readonly groups: readonly HostGroup[];
  readonly measure: Measure;
  /** Set by the map: draws the changes of a frame. */
  readonly draw: RefObject<(redraw: Redraw) => void>;
}

interface Cursor {
  readonly host: string;
  readonly x: number;
  readonly y: number;
}

/** The map: a canvas of cells, with pointer and arrow keys. The list beside it shows the same in words. */
export function FleetMap({
  model,
  groups,
  measure,
  draw,
  onOpen,
}: Drawing & {
  onOpen: (host: string) => void;
}) {
  const [zoom, setZoom] = useState(0);
  const [cursor, setCursor] = useState<Cursor | undefined>();
  const { scroller, map, overlay, heat, size, mapHeight } = useHeatMap({ model, groups, measure, draw, zoom });
  useEffect(() => heat.current?.setCursor(cursor?.host), [cursor]);

  const hostAt = (pointer: MouseEvent): Cursor | undefined => {
    const box = map.current?.getBoundingClientRect();
    if (!box || !heat.current) return undefined;
    const [x, y] = [pointer.clientX - box.left, pointer.clientY - box.top];
    const found = cellAt(heat.current.layout, x, y + (scroller.current?.scrollTop ?? 0));
    const host = found?.block.group.hosts[found.index]?.name;
    return host === undefined ? undefined : { host, x, y };
  };
  const walk = (key: KeyboardEvent) => {
    const drawn = heat.current;
    if (!drawn) return;
    if (key.key === 'Enter' && cursor) return onOpen(cursor.host);
    const next = step(drawn.layout.blocks, cursor?.host, key.key);
    if (next === undefined) return;
    key.preventDefault();
    const place = drawn.placeOf(next);
    const box = scroller.current;
    if (!place || !box) return;
    if (place.y < box.scrollTop || place.y > box.scrollTop + box.clientHeight - 30)
      box.scrollTop = place.y - box.clientHeight / 2;
    setCursor({ host: next, x: place.x, y: place.y - box.scrollTop });
  };

  const count = groups.reduce((sum, { hosts }) => sum + hosts.length, 0);

  return (
    <div class="map-frame">
      <div
        class="map-scroller"
        ref={scroller}
        onScroll={(scroll) => heat.current?.scrollTo(scroll.currentTarget.scrollTop)}
        onMouseMove={(pointer) => setCursor(hostAt(pointer))}
        onMouseLeave={() => setCursor(undefined)}
        onClick={(click) => {
          const found = hostAt(click);
          if (found) onOpen(found.host);
        }}
        onKeyDown={walk}
        tabIndex={0}
        role="application"
        aria-busy={mapHeight === 0}
        aria-label={`Map of ${plural(count, 'host')} coloured by ${measure.label}. Arrow keys walk, Enter opens a host. The list tells the same.`}
      >
        <div class="map-canvas">
          <canvas ref={map} />
          <canvas ref={overlay} class="map-overlay" />
        </div>
        <div style={{ height: `${Math.max(0, mapHeight - size.height)}px` }} />
      </div>
      <Zoom zoom={zoom} onZoom={setZoom} />
      <div aria-live="polite" class="map-tip-live">
        {cursor && <Tip model={model} cursor={cursor} measure={measure} width={size.width} height={size.height} />}
      </div>
    </div>
  );
}

/** The canvases of a map, drawn anew as their data, size and theme change. */
function useHeatMap({ model, groups, measure, draw, zoom }: Drawing & { readonly zoom: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const heat = useRef<HeatMap>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [mapHeight, setMapHeight] = useState(0);
  const theme = useTheme();

  useEffect(() => {
    if (!map.current || !overlay.current || !scroller.current) return;
    const drawn = new HeatMap(map.current, overlay.current, model.hosts);
    heat.current = drawn;
    const observer = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      setSize({ width: Math.floor(width), height: Math.floor(height) });
    });
    observer.observe(scroller.current);
    draw.current = ({ hosts, landed, failed }) => {
      drawn.nowMs = serverNow();
      drawn.drawSome(hosts);
      drawn.flash(landed, failed);
    };
    const timer = setInterval(() => {
      drawn.nowMs = serverNow();
      if (drawn.measure?.key === 'age') drawn.drawAll();
    }, REDRAW_MS);
    return () => {
      observer.disconnect();
      clearInterval(timer);
      drawn.close();
      draw.current = () => {};
    };
  }, [model]);

  useEffect(() => {
    const drawn = heat.current;
    if (!drawn || size.width === 0) return;
    drawn.nowMs = serverNow();
    drawn.measure = measure;
    drawn.resize(size.width, size.height);
    // Leaves the width of a scroll bar free.
    const layout = layOut(groups, size.width, size.height, ZOOMS[zoom] ?? 1);
    drawn.setLayout(layout);
    setMapHeight(layout.height);
  }, [groups, measure, size, zoom]);
  useEffect(() => heat.current?.repaint(), [theme]);
  return { scroller, map, overlay, heat, size, mapHeight };
}

function Zoom({ zoom, onZoom }: { zoom: number; onZoom: (zoom: number) => void }) {
  return (
    <div class="map-zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" disabled={zoom === ZOOMS.length - 1} onClick={() => onZoom(zoom + 1)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" disabled={zoom === 0} onClick={() => onZoom(zoom - 1)}>
        −
      </button>
    </div>
  );
}

function Tip({
  model,
  cursor,
  measure,
  width,
  height,
}: {
  model: FleetModel;
  cursor: Cursor;
  measure: Measure;
  width: number;
  height: number;
}) {
  const host = model.hosts.get(cursor.host);
  if (host === undefined) return null;
  const isLeft = cursor.x > width - 260;
  const isAbove = cursor.y > height - 130;
  const place = {
    left: isLeft ? undefined : `${cursor.x + 16}px`,
    right: isLeft ? `${width - cursor.x + 16}px` : undefined,
    top: isAbove ? undefined : `${cursor.y + 16}px`,
    bottom: isAbove ? `${height - cursor.y + 8}px` : undefined,
  };
  const flags = flagsOf(host);
  return (
    <div class="map-tip" style={place}>
      <strong>{host.name}</strong>
      <span>
        {host.zone}
        {host.rack && `, rack ${host.rack}`} · {plural(host.instances, 'instance')}
      </span>
      <span>
        {measure.label}: {measure.say(host, serverNow())}
      </span>
      {flags.length > 0 && <span class="tip-flags">{flags.map((flag) => FLAG_NAMES[flag]).join(', ')}</span>}
    </div>
  );
}

/** The target of an arrow key. */
function step(blocks: readonly Block[], host: string | undefined, key: string): string | undefined {
  const order = blocks.flatMap((block) => block.group.hosts.map((its, index) => ({ name: its.name, block, index })));
  const at = order.findIndex(({ name }) => name === host);
  if (!['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'].includes(key)) return undefined;
  if (at === -1 || key === 'Home') return order[0]?.name;
  if (key === 'End') return order.at(-1)?.name;
  const columns = order[at]?.block.columns ?? 1;
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key] ?? 0;
  return order[Math.min(order.length - 1, Math.max(0, at + by))]?.name;
}
