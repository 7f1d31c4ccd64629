import type { Random } from '#libs/domain/random';
import {
  type OpenSegment,
  type RecordedService,
  RowRecorder,
  type RowRecorderDeps,
} from '#libs/flight-record/row-recorder';
import { withoutSecrets } from '#libs/runtime/config';
import { berthVersion } from '#libs/runtime/manifest';
import type { CompleteSpec } from '../decision/complete-request';
import type { DecisionRecorder } from '../decision/decide';
import type { Pricing } from '../demand/pricing';
import type { Fleet } from '../fleet/fleet';
import type { PendingClaim } from '../fleet/pending-claims';
import { type SchedulerConfig, schedulerOptions } from '../options';
import { type FlightEntry, FORMAT, type RecordedClaim } from './entries';
import { outcomeOf } from './outcome-of';

/** Sources of a record, and where it goes. */
export interface RecorderDeps extends RowRecorderDeps {
  readonly fleet: Fleet;
  readonly pricing: Pricing;
  readonly version: string;
  readonly config: SchedulerConfig;
}

/**
 * The flight recorder of a scheduler: writes what each decision follows from, in order, so that each can be made again (`replay.ts`).
 *
 * A scheduler's decision is a function of the rows that its mirror shows, of the claims on their way, the times at which hosts were
 * read, prices, settings and a seed. So a segment begins with all rows and settings; then come the inputs, each as it is.
 */
export class FlightRecorder implements DecisionRecorder, RecordedService {
  readonly #rows: RowRecorder;
  readonly #specs = new WeakMap<OpenSegment, SegmentSpecs>();
  #claimIds = new WeakMap<PendingClaim, number>();
  #lastClaimId = 0;

  private constructor(private readonly deps: RecorderDeps) {
    this.#rows = new RowRecorder(deps, this);
  }

  /** Begins to record. @throws BerthError `invalid_argument / unwritable_folder` */
  static async open(deps: RecorderDeps): Promise<FlightRecorder> {
    const recorder = new FlightRecorder(deps);
    await recorder.#rows.start();
    return recorder;
  }

  async close(): Promise<void> {
    await this.#rows.close();
  }

  begin(startedAtMs: number, revision: number): FlightEntry {
    const { version, config } = this.deps;
    return { kind: 'segment', format: FORMAT, version, config, startedAtMs, revision };
  }

  ready(segment: OpenSegment, nowMs: number): FlightEntry {
    const { fleet, pricing } = this.deps;
    const places = fleet.recordBy(this, nowMs);
    const pending = [...fleet.pending].map((claim) => this.#recorded(claim));
    this.#specs.set(segment, new SegmentSpecs(pricing.prices));
    return { kind: 'ready', nowMs, places, pending, prices: pricing.prices.shapes };
  }

  decided: DecisionRecorder['decided'] = (request, { asIf: _asIf, ...attempt }, decision, pricing) => {
    const segment = this.#rows.current;
    const specs = segment && this.#specs.get(segment);
    if (!segment || !specs) return;
    const { spec, equivalenceClass: _, ...rest } = request;
    if (pricing.prices !== specs.prices) {
      specs.prices = pricing.prices;
      segment.append({ kind: 'prices', prices: pricing.prices.shapes });
    }
    const known = specs.idOf(spec);
    const { revision } = this.deps.mirror;
    const entry = { kind: 'decide', revision, attempt, request: rest, ...known, outcome: outcomeOf(decision) } as const;
    this.#rows.appendDecision(entry satisfies FlightEntry);
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

  #append(entry: FlightEntry): void {
    this.#rows.append(entry);
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
  const recorded = { ...withoutSecrets(schedulerOptions, config), recordFolder: '' };
  return FlightRecorder.open({ ...deps, version: berthVersion(), config: recorded, processId, folder, bounds });
}

/** Specs and prices of a segment, each written once. */
class SegmentSpecs {
  readonly #ids = new WeakMap<CompleteSpec, number>();
  #count = 0;

  /** @param prices  those of the last decision in it */
  constructor(public prices: Pricing['prices']) {}

  /** The number of a spec, with the spec where it is new to the segment. */
  idOf(spec: CompleteSpec): { readonly specId: number; readonly spec: CompleteSpec | undefined } {
    const known = this.#ids.get(spec);
    if (known !== undefined) return { specId: known, spec: undefined };
    this.#count += 1;
    this.#ids.set(spec, this.#count);
    return { specId: this.#count, spec };
  }
}
