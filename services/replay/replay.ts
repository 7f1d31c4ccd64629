import { BerthError } from '#libs/domain/errors';
import type { Rows } from '#libs/placement/port/placement-store';
import type { CompleteSpec, SelectRequest } from '../scheduler/decision/complete-request';
import {
  type DecideEntry,
  type DecisionOutcome,
  type FlightEntry,
  FORMAT,
  type SegmentEntry,
} from '../scheduler/flight/entries';
import { outcomeOf } from '../scheduler/flight/outcome-of';
import { Scene } from './scene';

/** A decision that was made again. */
export interface Replayed {
  readonly entry: DecideEntry;
  readonly outcome: DecisionOutcome;
  /** True if it came out as it was recorded. */
  readonly isSame: boolean;
}

/**
 * The scheduler of a segment, as it was before each of its entries. Decisions are made by the scheduler's own code, on its own
 * mirror and fleet; nothing is written and no bus is there.
 */
export class Replay {
  readonly segment: SegmentEntry;
  /** The mirror, the fleet, settings and prices of now. */
  readonly scene: Scene;
  readonly #entries: Iterator<FlightEntry>;
  readonly #specs = new Map<number, CompleteSpec>();

  private constructor(segment: SegmentEntry, entries: Iterator<FlightEntry>, scene: Scene) {
    this.segment = segment;
    this.scene = scene;
    this.#entries = entries;
  }

  /**
   * Reads the beginning of a segment: its settings and all rows. Undefined for one that ends before all rows were written.
   *
   * @throws BerthError `failed_precondition / other_format`
   */
  static async open(entries: Iterable<FlightEntry>): Promise<Replay | undefined> {
    const all = entries[Symbol.iterator]();
    const segment = all.next().value as FlightEntry | undefined;
    if (segment?.kind !== 'segment') return undefined;
    if (segment.format !== FORMAT) throw otherFormat(segment);
    const rows: Rows[] = [];
    const changes: FlightEntry[] = [];
    for (let next = all.next(); next.done !== true; next = all.next()) {
      const entry = next.value;
      if (entry.kind === 'dump') rows.push(entry.rows);
      else if (entry.kind === 'ready')
        return new Replay(segment, all, await Scene.open(segment, entry, { rows, changes }));
      else changes.push(entry);
    }
    return undefined;
  }

  /** Each decision, with the scene as it was before it. */
  *decisions(): Generator<DecideEntry> {
    for (let next = this.#entries.next(); next.done !== true; next = this.#entries.next()) {
      const entry = next.value;
      if (entry.kind !== 'decide') this.scene.take(entry);
      else {
        if (entry.spec) this.#specs.set(entry.specId, entry.spec);
        yield entry;
      }
    }
  }

  /** The request of a decision, as it was decided. */
  requestOf({ specId, request }: DecideEntry): SelectRequest {
    const known = this.#specs.get(specId);
    if (known === undefined)
      throw new BerthError('invalid_argument', 'bad_record', `spec ${specId} is not in the segment`);
    return { ...request, spec: known, equivalenceClass: this.scene.classOf(known) };
  }

  async close(): Promise<void> {
    await this.scene.close();
  }

  again(entry: DecideEntry): Replayed {
    const decision = this.scene.decide(this.requestOf(entry), entry.attempt);
    const outcome = outcomeOf(decision);
    return { entry, outcome, isSame: JSON.stringify(outcome) === JSON.stringify(entry.outcome) };
  }
}

function otherFormat({ format, version }: SegmentEntry): BerthError {
  const message = `the record is of Berth ${version}, in format ${format}; this Berth reads format ${FORMAT}`;
  return new BerthError('failed_precondition', 'other_format', message);
}
