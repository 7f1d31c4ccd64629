import type { BuildOptions } from '#libs/client/client';
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
  /** Only the traffic of tenants. */
  | { readonly kind: 'traffic' }
  /** `berth build --wait`. */
  | { readonly kind: 'build'; readonly request: BuildOptions; readonly timeoutMs: number };

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
