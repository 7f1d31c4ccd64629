/**
 * Nova's server group policies. `affinity` and `anti-affinity` are kept when the claim is committed, the soft ones only
 * weigh. `maxPerHost` counts members on one host and belongs to anti-affinity alone.
 */
export const GROUP_POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;

export type GroupPolicy = (typeof GROUP_POLICIES)[number];

export interface ServerGroup {
  readonly id: string;
  readonly policy: GroupPolicy;
  readonly maxPerHost: number;
}
