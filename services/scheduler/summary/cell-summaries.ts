import { type CellSummary, MAX_REFUSED_SHAPES, MAX_SHAPE_CHARS } from '#libs/domain/cells/cell-summary';
import { cellRequestOf } from '#libs/domain/cells/rank-cells';
import type { Clock } from '#libs/domain/clock';
import type { ResolvedSpec } from '#libs/domain/extra-specs/resolve';
import type { Fleet } from '../fleet/fleet';
import type { HostState } from '../fleet/host-state';
import { summariseHosts } from './summarise-hosts';

/** So long a refusal is told: by then hosts may have room again, and asking costs one call. */
const REFUSAL_MS = 5_000;

/** Reports of a scheduler to the top about its cell. */
export interface CellSummaries {
  /** The newest; it is made anew at most once in an interval, however often it is asked for. */
  newest(): CellSummary;
  /** The outcome of a request for `count` instances of a spec. */
  note(spec: ResolvedSpec, count: number, isSelected: boolean): void;
}

/** Summaries of a fleet. They are made when somebody asks: a cell without a top has none. */
export function cellSummaries(fleet: Fleet, clock: Clock, intervalMs: number): CellSummaries {
  const refusals = new Map<string, { readonly count: number; readonly untilMs: number }>();
  let made: { readonly summary: CellSummary; readonly atMs: number } | undefined;

  const refused = () => {
    for (const [shape, { untilMs }] of refusals) if (untilMs <= clock.elapsed()) refusals.delete(shape);
    return [...refusals].map(([shape, { count }]) => ({ shape, count }));
  };

  return {
    newest() {
      const nowMs = clock.elapsed();
      if (made && nowMs - made.atMs < intervalMs) return made.summary;
      const hosts: HostState[] = [];
      fleet.snapshot(clock.now()).hosts.forEach((_, host) => hosts.push(host));
      const summary = summariseHosts(hosts, refused());
      made = { summary: made?.summary.digest === summary.digest ? made.summary : summary, atMs: nowMs };
      return made.summary;
    },

    note(spec, count, isSelected) {
      if (isSelected && refusals.size === 0) return;
      const { shape, isShapeAlone } = cellRequestOf(spec);
      if (!isShapeAlone) return;
      const known = refusals.get(shape);
      if (isSelected) {
        if (known && known.count <= count) refusals.delete(shape);
        return;
      }
      if (shape.length > MAX_SHAPE_CHARS) return;
      if (refusals.size >= MAX_REFUSED_SHAPES && !known) refusals.delete(refusals.keys().next().value ?? '');
      refusals.set(shape, { count: Math.min(count, known?.count ?? count), untilMs: clock.elapsed() + REFUSAL_MS });
    },
  };
}
