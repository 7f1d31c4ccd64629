import type { StandingRow } from './builds';
import type { FilterRefusals, Verdict } from './explain';
import type { DoubtRow } from './host';

/** The data of an instance's page. */
export interface InstancePage {
  readonly uuid: string;
  readonly name: string;
  readonly requestId: string;
  readonly projectId: string;
  readonly userId: string;
  readonly state: string;
  readonly host: string;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly endsAtMs: number;
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  readonly attempts: readonly AttemptRow[];
  /** Hosts left to try. */
  readonly alternates: readonly string[];
  readonly flavor: string;
  /** The query of the page that explains its request. */
  readonly explain: string;
  readonly resources: Readonly<Record<string, number>>;
  /** The other requirements, in words: `required traits`: `HW_CPU_X86_AVX2`. */
  readonly asked: readonly (readonly [string, string])[];
  readonly claims: readonly ClaimRow[];
  readonly migration:
    | { readonly kind: string; readonly phase: string; readonly sourceHost: string; readonly destHost: string }
    | undefined;
  readonly waiting:
    | {
        readonly sinceMs: number;
        readonly untilMs: number;
        readonly waitsFor: readonly string[];
        readonly place: number;
        /** Undefined where projects take turns. */
        readonly standing: StandingRow | undefined;
      }
    | undefined;
  readonly gang:
    | { readonly minCount: number; readonly count: number; readonly onLoss?: 'restore' | 'end' | undefined }
    | undefined;
  readonly decision: DecisionView | undefined;
  readonly doubts: readonly DoubtRow[];
  /** Actions that its state allows. */
  readonly actions: readonly string[];
}

export interface AttemptRow {
  readonly host: string;
  readonly number: number;
  readonly outcome: string;
  readonly reason: string;
  readonly startedAtMs: number;
  /** 0 while it lasts. */
  readonly endedAtMs: number;
}

/** The allocation on one provider. */
export interface ClaimRow {
  readonly consumer: 'instance' | 'migration';
  readonly provider: string;
  readonly host: string;
  readonly resources: Readonly<Record<string, number>>;
}

/** The last decision, with its reasons. */
export interface DecisionView {
  readonly decidedAtMs: number;
  readonly revision: number;
  readonly considered: number;
  readonly passed: number;
  /** As in `Explanation`. */
  readonly isImpossible: boolean;
  readonly filters: readonly FilterRefusals[];
  readonly hosts: readonly Verdict[];
  /** The host; '' when none was found. */
  readonly selected: string;
}
