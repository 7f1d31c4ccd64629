import type { RequestWeigher } from './weigher';

/**
 * soft_affinity: prefers hosts with more members of the request's soft-affinity group.
 *
 * `BERTH_SCHEDULER_WEIGHT_SOFT_AFFINITY`, 8 by default: more than the other weighers together, so that a group parts only
 * when it must. Raw: members on the host; the host with the most of them has the whole weight.
 */
export const softAffinityWeigher: RequestWeigher = {
  kind: 'request',
  name: 'soft_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'soft-affinity') return undefined;
    return { lower: 0, upper: most(members.perHost), raw: members.perHost };
  },
};

/**
 * soft_anti_affinity: prefers hosts with fewer members of the request's soft-anti-affinity group.
 *
 * `BERTH_SCHEDULER_WEIGHT_SOFT_ANTI_AFFINITY`, 8 by default: more than the other weighers together, so that members share
 * a host only when they must. Raw: less than 0 by the members on the host; the host with the most of them has weight 0.
 */
export const softAntiAffinityWeigher: RequestWeigher = {
  kind: 'request',
  name: 'soft_anti_affinity',
  prepare({ members }) {
    if (members?.group.policy !== 'soft-anti-affinity') return undefined;
    const raw = new Map([...members.perHost].map(([index, count]) => [index, -count]));
    return { lower: -most(members.perHost), upper: 0, raw };
  },
};

/** Members on the host that has the most of them. */
function most(perHost: ReadonlyMap<number, number>): number {
  return Math.max(0, ...perHost.values());
}
