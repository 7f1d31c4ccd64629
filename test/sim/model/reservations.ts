import { type Broken, broken, type Maps, withEntry } from './step';

/** An instance at the top of a fleet of cells. */
export interface AtTop {
  /** Undefined without a record. */
  readonly state: string | undefined;
  /** Cells that its record names now. */
  readonly cells: readonly string[];
  readonly isReserved: boolean;
  /** True once it had a record. A store may forget it; who wrote it may still reserve. */
  readonly wasOnRecord: boolean;
  /** Cells that any version of its record named; no store can take back what was sent to them. */
  readonly named: readonly string[];
  /** True once a reservation was made for it. */
  readonly wasReserved: boolean;
  /**
   * True once it counted no more. A cell that built it later, unseen, brings its record back; the release after its end may come
   * after that, and it counts again when its cell says next what it has.
   */
  readonly hasEnded: boolean;
}

export type Reservations = Maps<AtTop>;

export type ReservationStep =
  | { readonly kind: 'record'; readonly uuid: string; readonly state: string; readonly cells: readonly string[] }
  /** Instances count against their quota, or do so no more. */
  | { readonly kind: 'reserve' | 'unreserve'; readonly uuids: readonly string[] }
  /** A cell is sent a request to build. */
  | { readonly kind: 'give'; readonly cell: string; readonly uuids: readonly string[] };

/** Ended, or without resources. */
const UNCOUNTED: readonly (string | undefined)[] = ['deleted', 'error', 'shelved_offloaded', undefined];
const UNKNOWN: AtTop = {
  state: undefined,
  cells: [],
  isReserved: false,
  wasOnRecord: false,
  named: [],
  wasReserved: false,
  hasEnded: false,
};

/**
 * Two phases: what a request takes is reserved at the top before a cell is asked, and the cell is on record before it is sent the
 * request. A crash in between leaves a reservation, or a record of a cell that knows nothing; never an instance that nobody counts.
 */
export function stepReservations(all: Reservations, step: ReservationStep): Reservations | Broken {
  if (step.kind === 'record') {
    const { uuid, state, cells } = step;
    const old = all[uuid] ?? UNKNOWN;
    if (cells.length > 0 && !old.wasReserved) return broken(`${uuid} is given ${cells.join()}, and was never reserved`);
    const hasEnded = old.hasEnded || UNCOUNTED.includes(state);
    const named = [...new Set([...old.named, ...cells])];
    return withEntry(all, uuid, { ...old, state, cells, named, hasEnded, wasOnRecord: true });
  }
  let next = all;
  for (const uuid of step.uuids) {
    const one = next[uuid] ?? UNKNOWN;
    const wrong = wrongOf(step, uuid, one);
    if (wrong !== undefined) return broken(wrong);
    if (step.kind === 'give') continue;
    const isReserved = step.kind === 'reserve';
    next = withEntry(next, uuid, { ...one, isReserved, wasReserved: one.wasReserved || isReserved });
  }
  return next;
}

function wrongOf(step: Exclude<ReservationStep, { kind: 'record' }>, uuid: string, one: AtTop): string | undefined {
  switch (step.kind) {
    case 'reserve':
      return one.wasOnRecord ? undefined : `${uuid} is reserved, and on no record`;
    case 'unreserve':
      return one.hasEnded || UNCOUNTED.includes(one.state) ? undefined : `${uuid} is ${one.state}, and counts no more`;
    case 'give':
      if (!one.wasReserved) return `${uuid} is sent to ${step.cell}, and was never reserved`;
      return one.named.includes(step.cell) ? undefined : `${uuid} is sent to ${step.cell}, which no record names`;
  }
}

/** Invariant after each step: what was sent to a cell was counted. */
export function wrongWithReservations(after: Reservations): string | undefined {
  const uncounted = Object.entries(after).find(([, one]) => one.cells.length > 0 && !one.wasReserved);
  return uncounted && `${uncounted[0]} is in ${uncounted[1].cells.join()}, and was never counted`;
}
