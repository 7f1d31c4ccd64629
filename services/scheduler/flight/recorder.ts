import type { Clock } from '#libs/domain/clock';
import type { Random } from '#libs/domain/random';
import type { FolderBounds } from '#libs/flight-record/record-folder';
import { makeFolder, segmentPath, trimFolder } from '#libs/flight-record/record-folder';
import { SegmentFile } from '#libs/flight-record/segment-file';
import type { Mirror, MirrorInput } from '#libs/placement/mirror/mirror';
import type { Rows } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';
import { berthVersion } from '#libs/runtime/manifest';
import type { CompleteSpec } from '../decision/complete-request';
import type { DecisionRecorder } from '../decision/decide';
import type { Pricing } from '../demand/pricing';
import type { Fleet } from '../fleet/fleet';
import type { PendingClaim } from '../fleet/pending-claims';
import type { SchedulerConfig } from '../options';
import { type FlightEntry, FORMAT, type RecordedClaim } from './entries';
import { outcomeOf } from './outcome-of';

/** Sources of a record, and where it goes. */
export interface RecorderDeps {
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  readonly pricing: Pricing;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly config: SchedulerConfig;
  /** Tells this process from others that write to the folder. */
  readonly processId: string;
  readonly folder: string;
  readonly bounds: FolderBounds;
}

/** The bounds hold for so many segments; a new one costs a copy of all rows. */
const SEGMENTS = 8;
const LEAST_SEGMENT_BYTES = 256 * 1_024;
/** Entries in one batch. */
const MAX_BATCH = 64;
const BATCH_MS = 200;
/** A disk that is this far behind gets no more of a segment. */
const MAX_WAITING_BYTES = 64 * 1_024 * 1_024;
/** Time without a record after a failure. */
const RETRY_MS = 60_000;

/**
 * The flight recorder of a scheduler: writes what each decision follows from, in order, so that each can be made again (`replay.ts`).
 *
 * A scheduler's decision is a function of the rows that its mirror shows, of the claims on their way, the times at which hosts were
 * read, prices, settings and a seed. So a segment begins with all rows and settings; then come the inputs, each as it is: the rows
 * of changes are immutable, and writing down a batch of them costs about a microsecond each.
 */
export class FlightRecorder implements DecisionRecorder {
  /** The segment in which decisions are complete, and the one that takes its place when all rows are in it. */
  #current: OpenSegment | undefined;
  #next: OpenSegment | undefined;
  #claimIds = new WeakMap<PendingClaim, number>();
  #lastClaimId = 0;
  #cancelTimer = () => {};

  private constructor(private readonly deps: RecorderDeps) {}

  /** Begins to record. @throws BerthError `invalid_argument / unwritable_folder` */
  static async open(deps: RecorderDeps): Promise<FlightRecorder> {
    await makeFolder(deps.folder);
    const recorder = new FlightRecorder(deps);
    deps.mirror.onInput((input) => recorder.#note(input));
    recorder.#begin();
    return recorder;
  }

  async close(): Promise<void> {
    this.deps.mirror.onInput(undefined);
    await this.#end();
  }

  /** Ends both segments; one that fails meanwhile is the recorder's no more. */
  async #end(): Promise<void> {
    const ended = [this.#current, this.#next].filter((segment) => segment !== undefined);
    this.#cancelTimer();
    this.#current = undefined;
    this.#next = undefined;
    await Promise.all(ended.map((segment) => segment.close()));
  }

  decided: DecisionRecorder['decided'] = (request, { asIf: _asIf, ...attempt }, decision, pricing) => {
    const segment = this.#current;
    if (!segment) return;
    const { spec, equivalenceClass: _, ...rest } = request;
    if (pricing.prices !== segment.prices) {
      segment.prices = pricing.prices;
      segment.append({ kind: 'prices', prices: pricing.prices.shapes });
    }
    const known = segment.idOf(spec);
    const { revision } = this.deps.mirror;
    segment.append({ kind: 'decide', revision, attempt, request: rest, ...known, outcome: outcomeOf(decision) });
    this.#afterAppend();
  };

  read(nowMs: number): void {
    this.#append({ kind: 'read', nowMs });
  }

  held(claims: readonly PendingClaim[], isAssumed: boolean): void {
    this.#append({ kind: 'hold', isAssumed, claims: claims.map((claim) => this.#recorded(claim)) });
  }

  settled(claims: readonly PendingClaim[]): void {
    this.#append({ kind: 'settle', ids: claims.map((claim) => this.#recorded(claim)[0]) });
  }

  #recorded(claim: PendingClaim): RecordedClaim {
    const known = this.#claimIds.get(claim);
    if (known !== undefined) return [known, claim];
    this.#lastClaimId += 1;
    this.#claimIds.set(claim, this.#lastClaimId);
    return [this.#lastClaimId, claim];
  }

  #note(input: MirrorInput): void {
    if (input.kind !== 'shown') return this.#append(input);
    // Rows that do not follow from those before.
    void this.#current?.close();
    this.#current = undefined;
    this.#begin();
  }

  #append(entry: FlightEntry): void {
    this.#current?.append(entry);
    this.#next?.append(entry);
    this.#afterAppend();
  }

  #afterAppend(): void {
    const { maxBytes } = this.deps.bounds;
    const size = this.#current?.bytes ?? 0;
    if (size > Math.max(LEAST_SEGMENT_BYTES, maxBytes / SEGMENTS, 4 * (this.#current?.dumpBytes ?? 0))) this.#begin();
  }

  /** Begins a segment with all rows, a piece at a time. */
  #begin(): void {
    if (this.#next !== undefined && this.#current !== undefined) return;
    void this.#next?.close();
    const { mirror, clock, version, config, folder, processId } = this.deps;
    const startedAtMs = clock.now();
    const path = segmentPath(folder, startedAtMs, processId);
    const segment = new OpenSegment(path, clock, (error) => this.#fail(segment, error));
    this.#next = segment;
    const { revision } = mirror;
    segment.append({ kind: 'segment', format: FORMAT, version, config, startedAtMs, revision });
    this.#dump(segment, mirror.rows()[Symbol.iterator]());
  }

  #dump(segment: OpenSegment, pieces: Iterator<Rows>): void {
    if (this.#next !== segment) return;
    const piece = pieces.next();
    if (piece.done === true) return this.#ready(segment);
    segment.append({ kind: 'dump', rows: piece.value });
    segment.flush();
    this.#cancelTimer = this.deps.clock.after(1, () => this.#dump(segment, pieces));
  }

  #ready(segment: OpenSegment): void {
    const { fleet, clock, pricing, folder, bounds, log } = this.deps;
    const nowMs = clock.now();
    const places = fleet.recordBy(this, nowMs);
    const pending = [...fleet.pending].map((claim) => this.#recorded(claim));
    segment.prices = pricing.prices;
    segment.append({ kind: 'ready', nowMs, places, pending, prices: pricing.prices.shapes });
    segment.flush();
    segment.dumpBytes = segment.bytes;
    void this.#current?.close();
    this.#current = segment;
    this.#next = undefined;
    trimFolder(folder, bounds, nowMs).catch((thrown: Error) => {
      log.warn({ event: 'flight_record_not_trimmed', reason: thrown.message }, `flight record: ${thrown.message}`);
    });
  }

  /** Ends segments of which one can't be written, and begins another later. */
  #fail(segment: OpenSegment, error: Error): void {
    if (this.#current !== segment && this.#next !== segment) return;
    void this.#end();
    const { log, clock } = this.deps;
    log.warn({ event: 'flight_record_failed', reason: error.message }, `decisions are not recorded: ${error.message}`);
    this.#cancelTimer = clock.after(RETRY_MS, () => this.#begin());
  }
}

/** Starts the recorder that the settings ask for. @throws BerthError `invalid_argument / unwritable_folder` */
export function recordInto(
  config: SchedulerConfig,
  deps: Pick<RecorderDeps, 'mirror' | 'fleet' | 'pricing' | 'clock' | 'log'> & { readonly random: Random },
): Promise<FlightRecorder> {
  const { recordFolder: folder, recordMaxMb, recordMaxAgeMs: maxAgeMs } = config;
  const bounds = { maxBytes: recordMaxMb * 1_000_000, maxAgeMs };
  const processId = deps.random.uuid().slice(0, 8);
  const recorded = { ...config, claimKey: '', recordFolder: '' };
  return FlightRecorder.open({ ...deps, version: berthVersion(), config: recorded, processId, folder, bounds });
}

/** A segment that is written. */
class OpenSegment {
  /** Prices of the last decision in it. */
  prices: Pricing['prices'] | undefined;
  /** Bytes with which it began. */
  dumpBytes = 0;
  readonly #file: SegmentFile;
  #batch: FlightEntry[] = [];
  readonly #specIds = new WeakMap<CompleteSpec, number>();
  #specCount = 0;
  #cancelTimer = () => {};

  constructor(
    readonly path: string,
    private readonly clock: Clock,
    private readonly onFailure: (error: Error) => void,
  ) {
    this.#file = SegmentFile.create(path, onFailure);
  }

  get bytes(): number {
    return this.#file.bytes;
  }

  append(entry: FlightEntry): void {
    if (this.#batch.push(entry) === 1) this.#cancelTimer = this.clock.after(BATCH_MS, () => this.flush());
    if (this.#batch.length >= MAX_BATCH) this.flush();
  }

  flush(): void {
    this.#cancelTimer();
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length === 0) return;
    try {
      if (this.#file.waiting > MAX_WAITING_BYTES) throw new Error('the disk is too slow');
      this.#file.append(batch);
    } catch (thrown) {
      // A record must not keep a decision from being made.
      this.onFailure(thrown as Error);
    }
  }

  /** The number of a spec, with the spec where it is new to the segment. */
  idOf(spec: CompleteSpec): { readonly specId: number; readonly spec: CompleteSpec | undefined } {
    const known = this.#specIds.get(spec);
    if (known !== undefined) return { specId: known, spec: undefined };
    this.#specCount += 1;
    this.#specIds.set(spec, this.#specCount);
    return { specId: this.#specCount, spec };
  }

  close(): Promise<void> {
    this.flush();
    return this.#file.close();
  }
}
