import type { GroupView } from '#libs/contracts/groups';
import { MAX_PAGE } from '#libs/contracts/limits';
import { invalidArgument } from '#libs/domain/errors';
import { GROUP_POLICIES, type GroupPolicy, type GroupRules } from '#libs/domain/server-group';
import type { Answer } from '../../http/request';
import {
  amount,
  anyText,
  exactly,
  integer,
  keyed,
  list,
  orNull,
  shortText,
  text,
  visibleName,
  whole,
} from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { projectOf, projectToBuildFor } from '../caller';
import { camelKeys, withinSchema } from '../spec';

const policy = { type: 'string', enum: GROUP_POLICIES };
const spread = { by: text, max_skew: amount(0), count_unavailable: { type: 'boolean' } };

const group = {
  project_id: text,
  name: text,
  policy,
  max_per_host: integer,
  spread: orNull(whole(spread)),
  within: orNull(withinSchema),
  metadata: keyed(anyText, text),
  created_at_ms: integer,
  member_count: integer,
};
export const groupSchema = whole(group);
export const groupWithMembers = whole({ ...group, members: list(text) });
export const groupsSchema = whole({ groups: list(groupSchema), next_marker: orNull(text) });

/** POST /berth/groups */
export const groupBody = exactly(
  {
    project_id: visibleName,
    name: shortText,
    policy,
    max_per_host: { ...integer, minimum: 0, maximum: 1_000_000 },
    spread: exactly(spread, ['by', 'max_skew']),
    within: withinSchema,
    metadata: keyed(anyText, text),
  },
  ['name', 'policy'],
);
/** GET /berth/groups */
export const groupsQuery = exactly({ project_id: shortText, marker: text });
/** GET and DELETE /berth/groups/{name} */
export const groupQuery = exactly({ project_id: shortText });

interface GroupBody {
  readonly project_id?: string;
  readonly name: string;
  readonly policy: GroupPolicy;
  readonly max_per_host?: number;
  readonly spread?: object;
  readonly within?: NonNullable<GroupRules['within']>;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** POST /berth/groups. @throws BerthError `already_exists / group_exists`. */
export async function createGroup({ caller, client, body }: BuildCall): Promise<Answer> {
  const {
    project_id: asked,
    name,
    policy: its,
    max_per_host: maxPerHost = 0,
    metadata = {},
    spread: over,
    within,
  } = body as GroupBody;
  const projectId = projectToBuildFor(caller, asked);
  const rules = {
    policy: its,
    maxPerHost,
    ...(over ? { spread: camelKeys(over) as unknown as NonNullable<GroupRules['spread']> } : {}),
    ...(within && { within }),
  };
  const made = await (await client()).groups.create({ projectId, name, ...rules, metadata });
  return { status: 201, body: groupJson(made), location: `/berth/groups/${name}` };
}

/** GET /berth/groups: a tenant's own; for operators of all projects, or of one. */
export async function listGroups({ caller, client, query }: BuildCall): Promise<Answer> {
  const projectId = projectOf(caller, query.last('project_id')) ?? '';
  const after = readMarker(query.last('marker'));
  const groups = await (await client()).groups.page(projectId, after, MAX_PAGE);
  const last = groups.length < MAX_PAGE ? undefined : groups.at(-1);
  const next = last && JSON.stringify([last.projectId, last.name]);
  return { status: 200, body: { groups: groups.map(groupJson), next_marker: next ?? null } };
}

/** GET /berth/groups/{name}, with its members. @throws BerthError `not_found / no_such_group`. */
export async function showGroup({ caller, client, params, query }: BuildCall): Promise<Answer> {
  const projectId = projectToBuildFor(caller, query.last('project_id'));
  const found = await (await client()).groups.show(projectId, params.name);
  return { status: 200, body: { ...groupJson(found), members: found.members } };
}

/** DELETE /berth/groups/{name}: its members stay. @throws BerthError `not_found / no_such_group`. */
export async function deleteGroup({ caller, client, params, query }: BuildCall): Promise<Answer> {
  const projectId = projectToBuildFor(caller, query.last('project_id'));
  await (await client()).groups.delete(projectId, params.name);
  return { status: 204 };
}

function groupJson({
  projectId,
  name,
  policy: its,
  maxPerHost,
  spread: over,
  within,
  metadata,
  createdAtMs,
  memberCount,
}: GroupView) {
  const { by, maxSkew, countUnavailable = false } = over ?? { by: '', maxSkew: 0 };
  return {
    project_id: projectId,
    name,
    policy: its,
    max_per_host: maxPerHost,
    spread: over ? { by, max_skew: maxSkew, count_unavailable: countUnavailable } : null,
    within: within ?? null,
    metadata,
    created_at_ms: createdAtMs,
    member_count: memberCount,
  };
}

function readMarker(marker = '["",""]'): { readonly projectId: string; readonly name: string } {
  const bad = () => invalidArgument('bad_marker', 'marker must be a next_marker', 'marker');
  try {
    const words: unknown = JSON.parse(marker);
    if (!Array.isArray(words) || words.length !== 2 || !words.every((word) => typeof word === 'string')) throw bad();
    const [projectId = '', name = ''] = words;
    return { projectId, name };
  } catch {
    throw bad();
  }
}
