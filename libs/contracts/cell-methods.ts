import { berth } from '#generated/berth';
import { CELL_NAME } from '../domain/cells/cell';
import {
  type CellRecord,
  type CellState,
  type CellSummary,
  type HostClass,
  MAX_HOST_CLASSES,
  MAX_REFUSED_SHAPES,
  MAX_SHAPE_CHARS,
  MAX_ZONES,
} from '../domain/cells/cell-summary';
import { invalidArgument } from '../domain/errors';
import { enumeration, list, missing, name, requiredName, text, traits, whole } from './checks';
import { type Codec, codec, type Method } from './codec';
import { MAX_NAMES, MAX_PAGE, MAX_RESOURCE_CLASSES } from './limits';

const wire = berth.cell.v1;
const STATES = enumeration({
  enabled: wire.CellState.CELL_STATE_ENABLED,
  disabled: wire.CellState.CELL_STATE_DISABLED,
  draining: wire.CellState.CELL_STATE_DRAINING,
});

/** A cell as operators see it at the top. */
export interface CellView extends CellRecord {
  readonly isReachable: boolean;
  readonly unreachableReason: string;
  readonly summaryAgeMs: number;
  readonly summary: CellSummary | undefined;
  /** By the scheduler that answers, since it started. */
  readonly selectedCount: number;
  readonly wrongGuessCount: number;
  readonly summaryBytes: number;
}

export interface DescribeCellRequest {
  readonly knownDigest: number;
  /** Whether later summaries are to be published for a while (`LISTENING_MS`). */
  readonly listens: boolean;
}

/** For so long summaries are published after the top has said that it listens. */
export const LISTENING_MS = 30_000;

/** What a cell publishes of its hosts. */
export interface CellSummaryEvent {
  readonly digest: number;
  /** Undefined when it is the one that was published before. */
  readonly summary: CellSummary | undefined;
  readonly nextWithinMs: number;
}

/** A summary, or undefined where the asker has it already. */
export interface DescribeCellResponse {
  readonly summary: CellSummary | undefined;
}

export interface SetCellStateRequest {
  readonly cell: string;
  readonly state: CellState;
  readonly reason: string;
}

/** To a cell's `rpc.scheduler`, from the top: a summary of its hosts. */
export const describeCellMethod: Method<DescribeCellRequest, DescribeCellResponse> = {
  request: codec(
    'berth.cell.v1.DescribeCellRequest',
    wire.DescribeCellRequest,
    (request) => request,
    ({ knownDigest, listens }) => ({ knownDigest: whole(knownDigest, 'known_digest'), listens }),
  ),
  response: codec(
    'berth.cell.v1.DescribeCellResponse',
    wire.DescribeCellResponse,
    ({ summary }) => ({ summary: summary ? summaryToWire(summary) : null }),
    ({ summary }) => ({ summary: summary ? summaryFromWire(summary, 'summary') : undefined }),
  ),
};

/** A summary as it travels; for whoever measures it. */
export const cellSummaryCodec: Codec<CellSummary> = codec(
  'berth.cell.v1.CellSummary',
  wire.CellSummary,
  summaryToWire,
  (value) => summaryFromWire(value, 'summary'),
);

/** On `berth.events` of a cell, by one of its schedulers. */
export const cellSummaryEventCodec: Codec<CellSummaryEvent> = codec(
  'berth.cell.v1.CellSummaryEvent',
  wire.CellSummaryEvent,
  ({ digest, summary, nextWithinMs }) => ({ digest, nextWithinMs, summary: summary ? summaryToWire(summary) : null }),
  ({ digest, summary, nextWithinMs }) => ({
    digest: whole(digest, 'digest'),
    summary: summary ? summaryFromWire(summary, 'summary') : undefined,
    nextWithinMs,
  }),
);

/** To the top's `rpc.scheduler`: the cells of the fleet, or one. */
export const listCellsMethod: Method<{ readonly cell: string }, { readonly cells: readonly CellView[] }> = {
  request: codec(
    'berth.cell.v1.ListCellsRequest',
    wire.ListCellsRequest,
    (request) => request,
    ({ cell }) => ({ cell: cell === '' ? '' : cellName(cell, 'cell') }),
  ),
  response: codec(
    'berth.cell.v1.ListCellsResponse',
    wire.ListCellsResponse,
    ({ cells }) => ({ cells: cells.map(viewToWire) }),
    ({ cells }) => ({ cells: list(cells, 'cells', MAX_PAGE, viewFromWire) }),
  ),
};

/** To the top's `rpc.scheduler`: whether it gives a cell new builds. */
export const setCellStateMethod: Method<SetCellStateRequest, { readonly cell: CellView }> = {
  request: codec(
    'berth.cell.v1.SetCellStateRequest',
    wire.SetCellStateRequest,
    ({ cell, state, reason }) => ({ cell, state: STATES.toWire(state), reason }),
    ({ cell, state, reason }) => ({
      cell: cellName(cell, 'cell'),
      state: STATES.fromWire(state, 'state'),
      reason: text(reason, 'reason'),
    }),
  ),
  response: codec(
    'berth.cell.v1.SetCellStateResponse',
    wire.SetCellStateResponse,
    ({ cell }) => ({ cell: viewToWire(cell) }),
    ({ cell }) => {
      if (!cell) throw missing('cell');
      return { cell: viewFromWire(cell, 'cell') };
    },
  ),
};

function cellName(value: string, field: string): string {
  if (CELL_NAME.test(value)) return value;
  throw invalidArgument('bad_cell_name', `${field} must be 1 to 40 letters, digits, _ and -, not '${value}'`, field);
}

function viewToWire(view: CellView): berth.cell.v1.ICell {
  const { isReachable: reachable, state, summary, ...rest } = view;
  return { ...rest, reachable, state: STATES.toWire(state), summary: summary ? summaryToWire(summary) : null };
}

function viewFromWire(value: berth.cell.v1.ICell, field: string): CellView {
  const cell = value as berth.cell.v1.Cell;
  return {
    name: cellName(cell.name, `${field}.name`),
    state: STATES.fromWire(cell.state, `${field}.state`),
    reason: text(cell.reason, `${field}.reason`),
    changedAtMs: whole(cell.changedAtMs, `${field}.changed_at_ms`),
    isReachable: cell.reachable,
    unreachableReason: text(cell.unreachableReason, `${field}.unreachable_reason`),
    summaryAgeMs: whole(cell.summaryAgeMs, `${field}.summary_age_ms`),
    summary: cell.summary ? summaryFromWire(cell.summary, `${field}.summary`) : undefined,
    selectedCount: whole(cell.selectedCount, `${field}.selected_count`),
    wrongGuessCount: whole(cell.wrongGuessCount, `${field}.wrong_guess_count`),
    summaryBytes: cell.summaryBytes,
  };
}

/** Names stand in it once, and classes refer to them by their places. */
function summaryToWire(summary: CellSummary): berth.cell.v1.ICellSummary {
  const traitPlaces = new Map<string, number>();
  const classPlaces = new Map<string, number>();
  const placeIn = (places: Map<string, number>) => (named: string) => {
    const place = places.get(named) ?? places.size;
    places.set(named, place);
    return place;
  };
  const commonTraits = [...summary.commonTraits].map(placeIn(traitPlaces));
  for (const { free } of summary.classes) Object.keys(free).forEach(placeIn(classPlaces));
  const resourceClasses = [...classPlaces.keys()];
  const classes = summary.classes.map(({ zone, hostCount, traits: all, someTraits, free }) => ({
    zone,
    hostCount,
    traits: [...all].map(placeIn(traitPlaces)),
    someTraits: [...someTraits].map(placeIn(traitPlaces)),
    mostFree: resourceClasses.map((named) => free[named]?.most ?? 0),
    totalFree: resourceClasses.map((named) => free[named]?.total ?? 0),
  }));
  const { digest, hostCount, availableCount, instanceCount, refused, zones } = summary;
  const counts = { digest, hostCount, availableCount, instanceCount };
  const names = { traits: [...traitPlaces.keys()], resourceClasses, zones: [...zones] };
  return { ...counts, ...names, commonTraits, classes, refused: [...refused], abridged: summary.isAbridged };
}

function summaryFromWire(value: berth.cell.v1.ICellSummary, field: string): CellSummary {
  const summary = value as berth.cell.v1.CellSummary;
  const names = traits(summary.traits, `${field}.traits`);
  const resourceClasses = list(
    summary.resourceClasses,
    `${field}.resource_classes`,
    MAX_RESOURCE_CLASSES,
    requiredName,
  );
  return {
    digest: whole(summary.digest, `${field}.digest`),
    hostCount: summary.hostCount,
    availableCount: summary.availableCount,
    instanceCount: summary.instanceCount,
    commonTraits: traitsAt(summary.commonTraits, names, `${field}.common_traits`),
    classes: list(summary.classes, `${field}.classes`, MAX_HOST_CLASSES, (one, path) =>
      hostClassFromWire(one, names, resourceClasses, path),
    ),
    refused: list(summary.refused, `${field}.refused`, MAX_REFUSED_SHAPES, refusedFromWire),
    zones: list(summary.zones, `${field}.zones`, MAX_ZONES, requiredName),
    isAbridged: summary.abridged,
  };
}

function hostClassFromWire(
  value: berth.cell.v1.IHostClass,
  names: readonly string[],
  resourceClasses: readonly string[],
  field: string,
): HostClass {
  const { zone, hostCount, traits: all, someTraits, mostFree, totalFree } = value as berth.cell.v1.HostClass;
  if (hostCount === 0) throw missing(`${field}.host_count`);
  const free = resourceClasses.map((resourceClass, n) => {
    const most = whole(mostFree[n] ?? 0, `${field}.most_free`);
    return [resourceClass, { most, total: whole(totalFree[n] ?? 0, `${field}.total_free`) }] as const;
  });
  return {
    zone: name(zone, `${field}.zone`),
    hostCount,
    traits: traitsAt(all, names, `${field}.traits`),
    someTraits: traitsAt(someTraits, names, `${field}.some_traits`),
    free: Object.fromEntries(free.filter(([, { most }]) => most > 0)),
  };
}

function traitsAt(places: readonly number[], names: readonly string[], field: string): ReadonlySet<string> {
  const found = list(places, field, MAX_NAMES, (place) => {
    const trait = names[place];
    if (trait === undefined)
      throw invalidArgument('unknown_place', `${field} names no place of traits: ${place}`, field);
    return trait;
  });
  return new Set(found);
}

function refusedFromWire(value: berth.cell.v1.IRefusedShape, field: string) {
  const { shape, count } = value as berth.cell.v1.RefusedShape;
  if (shape.length > MAX_SHAPE_CHARS) throw invalidArgument('too_long', `${field}.shape is too long`, `${field}.shape`);
  return { shape, count };
}
