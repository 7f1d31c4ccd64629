import type { PersonalWeigher } from './weigher';

/**
 * soft_anti_affinity: prefers hosts with fewer members of the request's soft-anti-affinity group.
 *
 * `BERTH_SCHEDULER_WEIGHT_SOFT_ANTI_AFFINITY`, 8 by default: more than the other weighers together, so that members share
 * a host only when they must. Raw: less than 0 by the members on the host; the host with the most of them has weight 0.
 */
export const softAntiAffinityWeigher: PersonalWeigher = {
  kind: 'personal',
  name: 'soft_anti_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'soft-anti-affinity') return undefined;
    const raw = new Map([...members.perHost].map(([index, count]) => [index, -count]));
    return { lower: -members.most(), upper: 0, raw };
  },
};
