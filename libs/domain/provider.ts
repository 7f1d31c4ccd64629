import type { Device } from './devices/device';
import type { Inventories } from './inventory';

/**
 * A resource provider as in Placement, without its usage. Trees are flat records with a parent and a root; a root is
 * its own root. `generation` rises with each write that raises it in Placement.
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
  /** The device that the provider is, as its agent reports it. */
  readonly device?: Device | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Trait of a provider whose inventory every tree in the same aggregate may use. */
export const SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE';

/** Trait on the root provider of a disabled host: Nova's schedulers place no instances there. */
export const DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED';
