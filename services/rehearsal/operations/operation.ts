import type { BuildOptions } from '#libs/client/client';
import type { Resources } from '#libs/domain/inventory';

/** Something that is done to a fleet, as plain data: threads are told it. */
export type Operation =
  /** `berth host drain`. */
  | { readonly kind: 'drain'; readonly hosts: readonly string[]; readonly parallel: number; readonly timeoutMs: number }
  /** They are dead at once, and never come back. */
  | { readonly kind: 'lose'; readonly hosts: readonly string[]; readonly evacuation: Evacuation | undefined }
  /** `berth host disable`. */
  | { readonly kind: 'disable'; readonly hosts: readonly string[] }
  /** Drained, switched off, and deleted once they are down: `berth host delete`. What stays keeps its host. */
  | {
      readonly kind: 'delete';
      readonly hosts: readonly string[];
      readonly parallel: number;
      readonly timeoutMs: number;
    }
  /** Nothing but what tenants do. */
  | { readonly kind: 'traffic' }
  /** `berth build --wait`. */
  | { readonly kind: 'build'; readonly request: BuildOptions; readonly timeoutMs: number };

/** An operator evacuates what is on dead hosts; without, only what asked for it is evacuated. */
export interface Evacuation {
  readonly parallel: number;
  readonly timeoutMs: number;
}

/** What an operation could not do for an instance. */
export interface Refused {
  readonly uuid: string;
  readonly name: string;
  readonly resources: Resources;
  readonly why: string;
}
