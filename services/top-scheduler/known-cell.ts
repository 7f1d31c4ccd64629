import type { CellLink } from '#libs/cells/cell-link';
import { type CellSummaryEvent, type CellView, LISTENING_MS } from '#libs/contracts/cell-methods';
import { cellSummaryCodec } from '#libs/contracts/cell-summary';
import type { CellRecord, CellSummary } from '#libs/domain/cells/cell-summary';
import type { CellCandidate } from '#libs/domain/cells/rank-cells';
import type { Clock } from '#libs/domain/clock';
import type { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';

/** Limit of the remembered refusals of one cell, by shape. */
const MAX_REFUSALS = 256;

/** One top scheduler's knowledge of one cell. */
interface Refusal {
  readonly count: number;
  readonly untilMs: number;
  /** The cell's summary at the time of its refusal. */
  readonly summary: CellSummary | undefined;
}

export class KnownCell implements CellCandidate {
  record: CellRecord;
  summary: CellSummary | undefined;
  assumed: Resources = {};
  selectedCount = 0;
  wrongGuessCount = 0;
  #summaryAtMs = 0;
  #summaryBytes = 0;
  #quietUntilMs = 0;
  #askAtMs = 0;
  #lastError: BerthError | undefined;
  /** Its refusals, which are newer than its summary. */
  readonly #refusals = new Map<string, Refusal>();

  constructor(
    readonly link: CellLink,
    private readonly clock: Clock,
  ) {
    this.record = { name: link.cell, state: 'enabled', reason: '', changedAtMs: 0 };
  }

  get name(): string {
    return this.link.cell;
  }

  get state() {
    return this.record.state;
  }

  get unreachable(): string {
    return this.link.problem !== '' ? 'unreachable' : this.#lastError ? 'silent' : '';
  }

  /** True when its schedulers must be asked: silence for too long, an unknown digest, or the renewal is due. */
  get isToBeAsked(): boolean {
    const nowMs = this.clock.elapsed();
    return nowMs >= this.#quietUntilMs || nowMs >= this.#askAtMs;
  }

  /** They were asked, and continue to send for a while. */
  asked(): void {
    this.#askAtMs = this.clock.elapsed() + LISTENING_MS / 3;
  }

  /** They sent an event. */
  heardOf({ digest, summary, nextWithinMs }: CellSummaryEvent): void {
    const isKnown = summary !== undefined || digest === this.summary?.digest;
    if (isKnown) this.heard(summary);
    this.#quietUntilMs = isKnown ? this.clock.elapsed() + nextWithinMs : 0;
  }

  /** A summary arrived; undefined: unchanged. */
  heard(summary: CellSummary | undefined): void {
    this.#lastError = undefined;
    this.#summaryAtMs = this.clock.elapsed();
    // Recent selections appear in the next summary, or in the one after.
    this.assumed = {};
    if (summary === undefined) return;
    this.summary = summary;
    this.#summaryBytes = cellSummaryCodec.encode(summary).length;
  }

  failed(error: BerthError): void {
    this.#lastError = error;
  }

  selected(resources: Resources, count: number): void {
    this.selectedCount += count;
    const assumed: Record<string, number> = { ...this.assumed };
    for (const name in resources) assumed[name] = (assumed[name] ?? 0) + (resources[name] as number) * count;
    this.assumed = assumed;
  }

  /** @param shape  undefined when the refusal says nothing about other requests */
  refused(shape: string | undefined, count: number, forMs: number): void {
    this.wrongGuessCount += 1;
    if (shape === undefined) return;
    const known = this.#refusals.get(shape)?.count ?? count;
    if (this.#refusals.size >= MAX_REFUSALS) this.#refusals.delete(this.#refusals.keys().next().value ?? '');
    this.#refusals.set(shape, {
      count: Math.min(count, known),
      untilMs: this.clock.elapsed() + forMs,
      summary: this.summary,
    });
  }

  refusedSince = (shape: string): number => {
    const own = this.#refusals.get(shape);
    const isNewest = own !== undefined && own.summary === this.summary && own.untilMs > this.clock.elapsed();
    return isNewest ? own.count : Number.POSITIVE_INFINITY;
  };

  refusedCount = (shape: string): number => {
    const own = this.#refusals.get(shape);
    if (own && own.untilMs <= this.clock.elapsed()) this.#refusals.delete(shape);
    else if (own) return own.count;
    return this.summary?.refused.find((refused) => refused.shape === shape)?.count ?? Number.POSITIVE_INFINITY;
  };

  view(): CellView {
    return {
      ...this.record,
      isReachable: this.unreachable === '',
      unreachableReason: this.link.problem || (this.#lastError?.message ?? ''),
      summaryAgeMs: this.summary ? Math.round(this.clock.elapsed() - this.#summaryAtMs) : 0,
      summary: this.summary,
      selectedCount: this.selectedCount,
      wrongGuessCount: this.wrongGuessCount,
      summaryBytes: this.#summaryBytes,
    };
  }
}
