import { berth } from '#generated/berth';
import { isFlavorName as isGroupName } from '../domain/names';
import { badName, chosenProjectId, missing, projectId, requiredProjectId, uuids, whole } from './checks';
import { ruled } from './field-rules';
import { count, list, orEmpty, pageLimit } from './fields';
import { MAX_PAGE } from './limits';
import { message, type PlainOf } from './message';
import { FEW, KIB, ofTenants } from './message-rules';
import { metadata } from './metadata';
import { checkGroupRules, groupRules } from './placement';

const wire = berth.group.v1;

const groupName = ruled({ required: true, format: 'flavor_name' }, (value: string, path: string): string => {
  if (value === '') throw missing(path);
  if (isGroupName(value)) return value;
  throw badName(path, value, 'at most 100 letters, digits, dots, dashes and underscores');
});

const group = message(
  wire.Group,
  {
    projectId: requiredProjectId,
    name: groupName,
    ...groupRules,
    metadata,
    createdAtMs: whole,
    memberCount: count,
  },
  { check: checkGroupRules },
);
export type GroupView = PlainOf<typeof group>;

/** To `rpc.scheduler`: adds a server group. */
export const createGroupMethod = {
  request: message(
    wire.CreateGroupRequest,
    {
      projectId: chosenProjectId,
      name: groupName,
      ...groupRules,
      metadata,
    },
    { rule: ofTenants(16 * KIB, FEW), check: checkGroupRules },
  ),
  response: message(wire.CreateGroupResponse, { group }),
};
export type CreateGroupRequest = PlainOf<typeof createGroupMethod.request>;
/** The group as it is now; a deleted one as it was. */
export type GroupAnswer = PlainOf<typeof createGroupMethod.response>;

/** To `rpc.scheduler`: groups, page by page; of one, its members too. */
export const listGroupsMethod = {
  request: message(
    wire.ListGroupsRequest,
    {
      projectId,
      name: orEmpty(groupName),
      markerProjectId: projectId,
      markerName: orEmpty(groupName),
      limit: pageLimit(MAX_PAGE, MAX_PAGE),
    },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.ListGroupsResponse, { groups: list(group, MAX_PAGE), members: uuids }),
};
export type ListGroupsRequest = PlainOf<typeof listGroupsMethod.request>;
export type ListGroupsResponse = PlainOf<typeof listGroupsMethod.response>;

/** To `rpc.scheduler`: takes a server group away; its members stay. */
export const deleteGroupMethod = {
  request: message(
    wire.DeleteGroupRequest,
    { projectId: requiredProjectId, name: groupName },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.DeleteGroupResponse, { group }),
};
