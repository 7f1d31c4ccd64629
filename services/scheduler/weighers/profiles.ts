import { type Aggregate, metadataOf } from '#libs/domain/grouping/aggregate';
import type { Weights } from './registry';

/** Purposes by which hosts are chosen, each one name. */
export const PROFILES = ['spread', 'pack', 'headroom'] as const;
export type Profile = (typeof PROFILES)[number];

/** Metadata by which an aggregate gives its hosts a profile. */
export const PROFILE_KEY = 'scheduler_profile';

/** The settings that a profile decides, unless an operator sets them. */
type ProfileWeights = Pick<Weights, 'weightCpu' | 'weightRam' | 'weightDisk' | 'weightIoOps' | 'weightHeadroom'>;

/** Among hosts that cost the same room, the fullest: too little to count otherwise. */
const BREAKS_TIES = -0.0001;

/**
 * `spread`: emptiest hosts first, and few builds at once on one; needs most hosts. `pack`: fullest hosts first. `headroom`:
 * hosts where least of the room for later requests is lost; needs fewest. Both fill a host with builds one after
 * the other, which `BERTH_SCHEDULER_MAX_BUILDS_PER_HOST` bounds.
 */
const WEIGHTS: Readonly<Record<Profile, ProfileWeights>> = {
  spread: { weightCpu: 1, weightRam: 1, weightDisk: 1, weightIoOps: -1, weightHeadroom: 0 },
  pack: { weightCpu: -1, weightRam: -1, weightDisk: -1, weightIoOps: 0, weightHeadroom: 0 },
  headroom: {
    weightCpu: BREAKS_TIES,
    weightRam: BREAKS_TIES,
    weightDisk: BREAKS_TIES,
    weightIoOps: 0,
    weightHeadroom: 1,
  },
};

/** Hosts of nearly equal weight among which one is drawn: hosts that differ little differ in what they pack. */
const HOST_SUBSET_SIZE: Readonly<Record<Profile, number>> = { spread: 3, pack: 1, headroom: 1 };

/** The settings of a profile, and what an operator set instead. */
export function withProfile<C extends ProfileConfig>(
  config: C,
): C & ProfileWeights & { readonly hostSubsetSize: number } {
  const profile = WEIGHTS[config.profile];
  return {
    ...config,
    weightCpu: config.weightCpu ?? profile.weightCpu,
    weightRam: config.weightRam ?? profile.weightRam,
    weightDisk: config.weightDisk ?? profile.weightDisk,
    weightIoOps: config.weightIoOps ?? profile.weightIoOps,
    weightHeadroom: config.weightHeadroom ?? profile.weightHeadroom,
    hostSubsetSize: config.hostSubsetSize ?? HOST_SUBSET_SIZE[config.profile],
  };
}

type ProfileConfig = { readonly [K in keyof ProfileWeights | 'hostSubsetSize']: number | undefined } & {
  readonly profile: Profile;
};

/** The weight that the profiles of a host's aggregates say; of several the least; undefined when they say none. */
export function weightByProfile(aggregates: readonly Aggregate[], setting: keyof Weights): number | undefined {
  const said = metadataOf(aggregates, PROFILE_KEY).filter(isProfile);
  const weights = said.flatMap((profile) => WEIGHTS[profile][setting as keyof ProfileWeights] ?? []);
  return weights.length === 0 ? undefined : Math.min(...weights);
}

export function isProfile(text: string): text is Profile {
  return PROFILES.some((profile) => profile === text);
}
