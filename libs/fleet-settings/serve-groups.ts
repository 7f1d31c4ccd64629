import { answer } from '../bus/typed-calls';
import {
  createGroupMethod,
  deleteGroupMethod,
  type GroupAnswer,
  type GroupView,
  type ListGroupsRequest,
  type ListGroupsResponse,
  listGroupsMethod,
} from '../contracts/groups';
import { requireProject, requireService } from '../contracts/identity';
import { MAX_NAMES } from '../contracts/limits';
import { BerthError, invalidArgument } from '../domain/errors';
import { unreadableBudget } from '../domain/grouping/disruption-budget';
import { groupKey, type StoredGroup, storedGroupKey } from '../domain/server-group';
import type { PlacementView } from '../placement/port/placement-view';
import { commitGrouping, type GroupingDeps } from './commit-grouping';

/**
 * The calls about server groups, for operators, and for tenants about those of their own project.
 *
 * @throws BerthError `permission_denied / wrong_project`; `not_found / no_such_group`; `already_exists / group_exists`;
 *   `resource_exhausted / too_many_groups`; `invalid_argument / bad_budget`.
 */
export function groupCalls(deps: GroupingDeps) {
  const { mirror, catchUp } = deps;
  return {
    ...answer(listGroupsMethod, async (request, { identity }) => {
      if (request.projectId === '') requireService(identity, listGroupsMethod.request.type);
      else requireProject(identity, request.projectId);
      if (request.name !== '' && !mirror.serverGroup(storedGroupKey(request.projectId, request.name))) await catchUp();
      return listGroups(request, mirror);
    }),
    ...answer(createGroupMethod, async (request, { identity }): Promise<GroupAnswer> => {
      requireProject(identity, request.projectId);
      const unreadable = unreadableBudget(request.metadata);
      if (unreadable !== undefined) throw badBudget(unreadable);
      await commitGrouping({ kind: 'create_group', ...request }, deps);
      return { group: viewOf(mirror, requireGroup(mirror, request)) };
    }),
    ...answer(deleteGroupMethod, async (request, { identity }): Promise<GroupAnswer> => {
      requireProject(identity, request.projectId);
      if (!mirror.serverGroup(storedGroupKey(request.projectId, request.name))) await catchUp();
      const group = viewOf(mirror, requireGroup(mirror, request));
      await commitGrouping({ kind: 'delete_group', ...request }, deps);
      return { group };
    }),
  };
}

/** Groups by project and name, after the marker; or the one that is named, with its members. */
function listGroups(request: ListGroupsRequest, view: PlacementView): ListGroupsResponse {
  const { projectId, name, markerProjectId, markerName, limit } = request;
  if (name !== '') {
    const group = requireGroup(view, request);
    const members = [...view.groupMembers(groupKey(projectId, name))].sort().slice(0, MAX_NAMES);
    return { groups: [viewOf(view, group)], members };
  }
  const marker = { projectId: markerProjectId, name: markerName };
  const groups = [...view.serverGroups()]
    .filter((group) => (projectId === '' || group.projectId === projectId) && compare(group, marker) > 0)
    .sort(compare)
    .slice(0, limit);
  return { groups: groups.map((group) => viewOf(view, group)), members: [] };
}

function badBudget(key: string): BerthError {
  const message = `metadata ${key} must be a number of members or a percentage of them, such as 2 or 50%`;
  return invalidArgument('bad_budget', message, `metadata.${key}`);
}

type Identified = Pick<StoredGroup, 'projectId' | 'name'>;

function requireGroup(view: PlacementView, { projectId, name }: Identified): StoredGroup {
  const group = view.serverGroup(storedGroupKey(projectId, name));
  if (group) return group;
  const message = `project '${projectId}' has no group '${name}'`;
  throw new BerthError('not_found', 'no_such_group', message, { details: { group: name } });
}

function viewOf(view: PlacementView, group: StoredGroup): GroupView {
  const { projectId, name, policy, maxPerHost, spread, within, metadata, createdAtMs } = group;
  const memberCount = view.groupMembers(groupKey(projectId, name)).size;
  return { projectId, name, policy, maxPerHost, spread, within, metadata, createdAtMs, memberCount };
}

function compare(a: Identified, b: Identified): number {
  if (a.projectId !== b.projectId) return a.projectId < b.projectId ? -1 : 1;
  return a.name < b.name ? -1 : a.name === b.name ? 0 : 1;
}
