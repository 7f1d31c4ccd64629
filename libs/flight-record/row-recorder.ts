import type { Clock } from '../domain/clock';
import type { Mirror, MirrorInput } from '../placement/mirror/mirror';
import type { Rows } from '../placement/port/placement-store';
import type { Log } from '../runtime/log';
import { type FolderBounds, makeFolder, segmentPath, trimFolder } from './record-folder';
import { SegmentFile } from './segment-file';

/** Where a record goes, and the rows in it. */
export interface RowRecorderDeps {
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells this process from others that write to the folder. */
  readonly processId: string;
  readonly folder: string;
  readonly bounds: FolderBounds;
}

/** The entries that a service adds to the rows of its mirror. */
export interface RecordedService {
  /** Begins a segment. */
  begin(startedAtMs: number, revision: number): object;
  /** Follows all rows: from here on each decision can be made again. */
  ready(segment: OpenSegment, nowMs: number): object;
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
 * Records what a mirror shows, in segments: each begins with all rows, then come their changes in order, with the entries of its service
 * between them. Rows of changes are immutable, so writing down a batch of them costs about a microsecond each.
 */
export class RowRecorder {
  /** The segment in which decisions are complete, and the one that takes its place when all rows are in it. */
  #current: OpenSegment | undefined;
  #next: OpenSegment | undefined;
  #cancelTimer = () => {};

  constructor(
    private readonly deps: RowRecorderDeps,
    private readonly service: RecordedService,
  ) {}

  /** Begins to record. @throws BerthError `invalid_argument / unwritable_folder` */
  async start(): Promise<void> {
    await makeFolder(this.deps.folder);
    this.deps.mirror.onInput((input) => this.#note(input));
    this.#begin();
  }

  async close(): Promise<void> {
    this.deps.mirror.onInput(undefined);
    await this.#end();
  }

  /** The segment in which decisions are complete; undefined while none is. */
  get current(): OpenSegment | undefined {
    return this.#current;
  }

  append(entry: object): void {
    this.#current?.append(entry);
    this.#next?.append(entry);
    this.#afterAppend();
  }

  /** Appends a decision, which no segment needs that is not complete. */
  appendDecision(entry: object): void {
    this.#current?.append(entry);
    this.#afterAppend();
  }

  /** Ends both segments; one that fails meanwhile is the recorder's no more. */
  async #end(): Promise<void> {
    const ended = [this.#current, this.#next].filter((segment) => segment !== undefined);
    this.#cancelTimer();
    this.#current = undefined;
    this.#next = undefined;
    await Promise.all(ended.map((segment) => segment.close()));
  }

  #note(input: MirrorInput): void {
    if (input.kind !== 'shown') return this.append(input);
    // Rows that do not follow from those before.
    void this.#current?.close();
    this.#current = undefined;
    this.#begin();
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
    const { mirror, clock, folder, processId } = this.deps;
    const startedAtMs = clock.now();
    const path = segmentPath(folder, startedAtMs, processId);
    const segment = new OpenSegment(path, clock, (error) => this.#fail(segment, error));
    this.#next = segment;
    segment.append(this.service.begin(startedAtMs, mirror.revision));
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
    const { clock, folder, bounds, log } = this.deps;
    const nowMs = clock.now();
    segment.append(this.service.ready(segment, nowMs));
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

/** A segment that is written. */
export class OpenSegment {
  /** Bytes with which it began. */
  dumpBytes = 0;
  readonly #file: SegmentFile;
  #batch: object[] = [];
  #cancelTimer = () => {};

  constructor(
    path: string,
    private readonly clock: Clock,
    private readonly onFailure: (error: Error) => void,
  ) {
    this.#file = SegmentFile.create(path, onFailure);
  }

  get bytes(): number {
    return this.#file.bytes;
  }

  append(entry: object): void {
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

  close(): Promise<void> {
    this.flush();
    return this.#file.close();
  }
}
