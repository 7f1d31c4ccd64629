import type { PersonalWeigher } from './weigher';

/**
 * soft_affinity: prefers hosts with more members of the request's soft-affinity group.
 *
 * `BERTH_SCHEDULER_WEIGHT_SOFT_AFFINITY`, 8 by default: more than the other weighers together, so that a group parts only
 * when it must. Raw: members on the host; the host with the most of them has the whole weight.
 */
export const softAffinityWeigher: PersonalWeigher = {
  kind: 'personal',
  name: 'soft_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'soft-affinity') return undefined;
    return { lower: 0, upper: members.most(), raw: members.perHost };
  },
};
