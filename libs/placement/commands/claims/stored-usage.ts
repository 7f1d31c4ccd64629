import type { Resources } from '../../../domain/inventory';

/** A project's amounts, and their changes day by day (`use-over-time.ts`), as of the last change at `atMs`. */
export interface StoredUsage {
  readonly atMs: number;
  readonly amounts: Resources;
}
