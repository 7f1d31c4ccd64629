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

/**
 * Whether a group's policy forbids one more member on a host that has `here` of the group's `members`. Filters and the
 * store's commits ask the same: what a filter accepts, the commit does not refuse for ever. A group that is on several
 * hosts already, because claims were forced, goes on growing where it is.
 */
export function isForbidden(group: ServerGroup, members: number, here: number): boolean {
  if (group.policy === 'affinity') return members > 0 && here === 0;
  return group.policy === 'anti-affinity' && here >= Math.max(1, group.maxPerHost);
}

/** What a group's members are counted under: a group belongs to its project, another project's of the same id is another. */
export function groupKey(projectId: string, groupId: string): string {
  return `${Buffer.byteLength(projectId)}:${projectId}${groupId}`;
}
