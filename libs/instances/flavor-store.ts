import type { Flavor } from '../domain/flavor';

/**
 * The flavors of one cell. Adapters: `redis` and `memory`, one contract suite (`libs/testing/instances/flavor-contract`).
 * All methods throw BerthError `unavailable` when the store is away.
 */
export interface FlavorStore {
  getFlavor(name: string): Promise<Flavor | undefined>;

  /** All, by name. */
  listFlavors(): Promise<Flavor[]>;

  /** Writes a flavor under a new version, if the stored one has the version `over`; undefined: if there is none. */
  writeFlavor(flavor: Omit<Flavor, 'version'>, over: number | undefined): Promise<FlavorWritten>;

  /** Answers what was deleted; undefined when there was none. */
  deleteFlavor(name: string): Promise<Flavor | undefined>;
}

export type FlavorWritten =
  | { readonly kind: 'written'; readonly flavor: Flavor }
  /** Another version is stored, or none. */
  | { readonly kind: 'other'; readonly flavor: Flavor | undefined }
  /** There are {@link MAX_FLAVORS}. */
  | { readonly kind: 'full' };

/** So that all of them fit into one answer. */
export const MAX_FLAVORS = 1_000;
