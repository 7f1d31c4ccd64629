import type { BuildOptions, QuotaChange } from '#libs/client/client';
import type { Goal } from '#libs/client/rebalance/find-plan';
import type { Resources } from '#libs/domain/inventory';

/** An operation on a fleet, as plain data that passes between threads. */
export type Operation =
  /** `berth host drain`. */
  | { readonly kind: 'drain'; readonly hosts: readonly string[]; readonly parallel: number; readonly timeoutMs: number }
  /** The hosts are dead at once, and never come back. */
  | { readonly kind: 'lose'; readonly hosts: readonly string[]; readonly evacuation: Evacuation | undefined }
  /** `berth host disable`. */
  | { readonly kind: 'disable'; readonly hosts: readonly string[] }
  /** `berth host delete`: drained, switched off, and deleted once down. A host that keeps an instance stays. */
  | {
      readonly kind: 'delete';
      readonly hosts: readonly string[];
      readonly parallel: number;
      readonly timeoutMs: number;
    }
  /** Hosts one after the other: drained, their agents stopped for a time, and enabled again. A host that keeps an instance is left out. */
  | {
      readonly kind: 'upgrade';
      readonly hosts: readonly string[];
      readonly parallel: number;
      readonly timeoutMs: number;
      readonly stoppedMs: number;
    }
  /** `berth rebalance --apply`. */
  | { readonly kind: 'rebalance'; readonly goal: Goal; readonly parallel: number; readonly timeoutMs: number }
  /** `berth quota set`; '' is the default quota. */
  | { readonly kind: 'quota'; readonly projectId: string; readonly change: QuotaChange }
  /** `berth flavor set`, then builds of the flavor, if any. */
  | {
      readonly kind: 'flavor';
      readonly name: string;
      readonly change: FlavorChange;
      readonly build?: Builds | undefined;
    }
  /** A server is away for a time. */
  | { readonly kind: 'outage'; readonly of: 'broker' | 'store'; readonly forMs: number }
  /** Only the traffic of tenants. */
  | { readonly kind: 'traffic' }
  /** `berth build --wait`. */
  | ({ readonly kind: 'build' } & Builds);

/** Builds that an operation waits for. */
export interface Builds {
  readonly request: BuildOptions;
  readonly timeoutMs: number;
}

/** A change of a flavor's extra specs. */
export interface FlavorChange {
  readonly setExtraSpecs: Readonly<Record<string, string>>;
  readonly unsetExtraSpecs: readonly string[];
}

/** The operator's evacuation of dead hosts; without one, only instances with a rebuild policy of `evacuate` are rebuilt. */
export interface Evacuation {
  readonly parallel: number;
  readonly timeoutMs: number;
}

/** An instance for which an operation failed. */
export interface Refused {
  readonly uuid: string;
  readonly name: string;
  readonly resources: Resources;
  readonly why: string;
}
