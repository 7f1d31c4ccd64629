import type { SpecObject } from '../objects/tables';

/** A server group as it is sent along: members and their hosts are those that Nova knew when it asked. */
export interface ServerGroup {
  readonly uuid: string;
  readonly policy: string;
  readonly members: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
  readonly maxServerPerHost: number;
}

/** The id under which claims count members of a group. */
export const guardedGroupId = ({ uuid }: ServerGroup) => `nova:${uuid}`;

export function serverGroupOf({ instance_group: group }: SpecObject): ServerGroup | undefined {
  const policy = group?.policy ?? group?.policies?.[0];
  if (group === undefined || policy === undefined) return undefined;
  const most = Number(group['_rules']?.get('max_server_per_host') ?? 1);
  return {
    uuid: group.uuid ?? '',
    policy,
    members: new Set(group.members),
    hosts: new Set(group.hosts),
    maxServerPerHost: Number.isInteger(most) && most > 0 ? most : 1,
  };
}
