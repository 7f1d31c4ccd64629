import type { Inventories } from './inventory';

/**
 * A resource provider as Placement knows it: what exists, without what is used. Trees are flat records with a parent and
 * a root; a root is its own root. `generation` rises with every write that Placement says raises it.
 */
export interface Provider {
  readonly uuid: string;
  readonly name: string;
  readonly parentUuid: string | undefined;
  readonly rootUuid: string;
  readonly generation: number;
  readonly inventories: Inventories;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The trait that lets a provider's inventory be used by every tree that shares an aggregate with it. */
export const SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE';

/** On the root provider of a host that an operator has disabled: Nova's schedulers give such a host no instances. */
export const DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED';
