import { berth } from '#generated/berth';
import { isFlavorName as isGroupName, requireVisibleName } from '../domain/names';
import { badName, list, missing, pageLimit, projectId, requiredProjectId, uuids, whole } from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { MAX_PAGE } from './limits';
import type { CreateGroupRequest, GroupAnswer, GroupView, ListGroupsRequest, ListGroupsResponse } from './messages';
import { metadataFromWire } from './metadata';
import { policyToWire, rulesFromWire, spreadToWire } from './placement';

const wire = berth.group.v1;

/** To `rpc.scheduler`: adds a server group. */
export const createGroupMethod: Method<CreateGroupRequest, GroupAnswer> = {
  request: codec(
    'berth.group.v1.CreateGroupRequest',
    wire.CreateGroupRequest,
    ({ policy, spread, ...request }) => ({ ...request, policy: policyToWire(policy), spread: spreadToWire(spread) }),
    (request) => {
      requireVisibleName(request.projectId, 'project_id');
      return { ...identityFromWire(request), ...settingsFromWire(request, '') };
    },
  ),
  response: answerCodec('berth.group.v1.CreateGroupResponse', wire.CreateGroupResponse),
};

/** To `rpc.scheduler`: groups, page by page; of one, its members too. */
export const listGroupsMethod: Method<ListGroupsRequest, ListGroupsResponse> = {
  request: codec(
    'berth.group.v1.ListGroupsRequest',
    wire.ListGroupsRequest,
    (request) => request,
    (request) => ({
      projectId: projectId(request.projectId, 'project_id'),
      name: request.name === '' ? '' : groupName(request.name, 'name'),
      markerProjectId: projectId(request.markerProjectId, 'marker_project_id'),
      markerName: request.markerName === '' ? '' : groupName(request.markerName, 'marker_name'),
      limit: pageLimit(request.limit, 'limit', MAX_PAGE, MAX_PAGE),
    }),
  ),
  response: codec(
    'berth.group.v1.ListGroupsResponse',
    wire.ListGroupsResponse,
    ({ groups, members }) => ({ groups: groups.map(groupToWire), members: members as string[] }),
    (response) => ({
      groups: list(response.groups, 'groups', MAX_PAGE, groupFromWire),
      members: uuids(response.members, 'members'),
    }),
  ),
};

/** To `rpc.scheduler`: takes a server group away; its members stay. */
export const deleteGroupMethod: Method<Pick<GroupView, 'projectId' | 'name'>, GroupAnswer> = {
  request: codec('berth.group.v1.DeleteGroupRequest', wire.DeleteGroupRequest, (request) => request, identityFromWire),
  response: answerCodec('berth.group.v1.DeleteGroupResponse', wire.DeleteGroupResponse),
};

function answerCodec(type: string, message: typeof wire.CreateGroupResponse): Codec<GroupAnswer> {
  return codec(
    type,
    message,
    ({ group }: GroupAnswer) => ({ group: groupToWire(group) }),
    ({ group }) => ({ group: groupFromWire(group, 'group') }),
  );
}

function groupToWire({ policy, spread, ...group }: GroupView): berth.group.v1.IGroup {
  return { ...(group as Mutable<typeof group>), policy: policyToWire(policy), spread: spreadToWire(spread) };
}

function groupFromWire(value: berth.group.v1.IGroup | null | undefined, field: string): GroupView {
  if (!value) throw missing(field);
  const group = value as berth.group.v1.Group;
  return {
    projectId: requiredProjectId(group.projectId, `${field}.project_id`),
    name: groupName(group.name, `${field}.name`),
    ...settingsFromWire(group, `${field}.`),
    createdAtMs: whole(group.createdAtMs, `${field}.created_at_ms`),
    memberCount: group.memberCount,
  };
}

function identityFromWire(request: { readonly projectId: string; readonly name: string }) {
  return {
    projectId: requiredProjectId(request.projectId, 'project_id'),
    name: groupName(request.name, 'name'),
  };
}

function settingsFromWire(
  settings: Parameters<typeof rulesFromWire>[0] & Pick<berth.group.v1.Group, 'metadata'>,
  prefix: string,
) {
  return { ...rulesFromWire(settings, prefix), metadata: metadataFromWire(settings.metadata, `${prefix}metadata`) };
}

function groupName(value: string, field: string): string {
  if (value === '') throw missing(field);
  if (isGroupName(value)) return value;
  throw badName(field, value, 'at most 100 letters, digits, dots, dashes and underscores');
}
