import type { FurtherMembers, SpecFields } from '#libs/client/client';
import { MAX_FURTHER_KINDS, MAX_INSTANCES_PER_REQUEST } from '#libs/contracts/limits';
import { ON_LOSS, type OnLoss } from '#libs/domain/instance';
import { type Admission, MAX_PRIORITY } from '#libs/domain/queueing/admission';
import { REBUILD_POLICIES, type RequestGroup } from '#libs/domain/request-spec';
import { GROUP_POLICIES, type NamedGroup, type Within } from '#libs/domain/server-group';
import {
  amount,
  anyText,
  CLASS_NAME,
  exactInteger,
  exactly,
  keyed,
  list,
  type Schema,
  shortText,
  text,
  visibleName,
} from '../schemas/parts';

const oneOf = (values: readonly string[]): Schema => ({ type: 'string', enum: values });
const flag: Schema = { type: 'boolean' };
const names = list(text);
const resources = keyed(CLASS_NAME, amount(1));
const pairs = keyed(anyText, text);

/** Domains from the outside in, of which so many bind. */
export const withinSchema = exactly({ levels: names, required: amount(0) }, ['levels', 'required']);

const requestGroup = exactly(
  {
    suffix: text,
    resources,
    required_traits: list(names),
    forbidden_traits: names,
    member_of: list(names),
    forbidden_aggregates: names,
    in_tree: text,
  },
  ['suffix'],
);

/** The size of an instance: a flavor, or resources and extra specs. */
export const sizeFields = { flavor: shortText, resources, extra_specs: pairs };

/** The fields of a request spec, in the words of the wire. */
const specFields = {
  ...sizeFields,
  required_traits: names,
  forbidden_traits: names,
  preferred_traits: names,
  preferred_resources: resources,
  availability_zone: text,
  member_of: list(names),
  forbidden_aggregates: names,
  image_properties: pairs,
  same_host: names,
  different_host: names,
  group: exactly({ id: visibleName, policy: oneOf(GROUP_POLICIES), max_per_host: amount(0), within: withinSchema }, [
    'id',
  ]),
  force_hosts: names,
  ignore_hosts: names,
  request_groups: list(requestGroup),
  group_policy: oneOf(['none', 'isolate']),
  same_subtrees: list(names),
  root_required_traits: names,
  root_forbidden_traits: names,
  rebuild_policy: oneOf(REBUILD_POLICIES),
  reservation: shortText,
};

/** The fields of a request that is explained. */
export const explainedFields = specFields;

/** Priority of a request among those who wait, as a body has it. */
export const anyPriority: Schema = { type: 'integer', minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY };

const admission = exactly({
  priority: anyPriority,
  wait_for_capacity_ms: amountOfMs(),
  time_limit_ms: amountOfMs(),
  may_preempt: flag,
  is_protected: flag,
  is_requeued: flag,
  alternates_held: oneOf(['leased', 'reserved']),
  confirms_host: flag,
});

/** POST /berth/instances */
export const buildBody = exactly({
  project_id: visibleName,
  name: visibleName,
  count: countOf(1),
  min_count: countOf(0),
  on_loss: oneOf(ON_LOSS),
  admission,
  within: withinSchema,
  further_members: {
    ...list(exactly({ name: visibleName, count: countOf(1), min_count: countOf(0), ...specFields })),
    maxItems: MAX_FURTHER_KINDS,
  },
  ...specFields,
});

/** A body that matches {@link buildBody}. */
export type BuildBody = Readonly<Record<string, unknown>> & {
  readonly project_id?: string;
  readonly name?: string;
  readonly count?: number;
  readonly min_count?: number;
  readonly on_loss?: OnLoss;
  readonly admission?: Readonly<Record<string, unknown>>;
  readonly within?: Within;
  readonly further_members?: readonly MembersBody[];
};

type MembersBody = Pick<BuildBody, 'name' | 'count' | 'min_count'>;

/** The further kinds of a valid body, as the client library takes them. */
export function furtherMembersOf({ further_members: further = [] }: BuildBody, projectId: string, userId: string) {
  return further.map(({ name, count = 1, min_count: minCount = 0, ...rest }): FurtherMembers => {
    return { spec: specOf(rest, projectId, userId), count, minCount, ...(name === undefined ? {} : { name }) };
  });
}

/** The request spec of a valid body, as the client library takes it. */
export function specOf(body: BuildBody, projectId: string, userId: string): SpecFields {
  const given = Object.entries(body).filter(([name]) => name in specFields);
  const { flavor, group, requestGroups, ...rest } = camelKeys(Object.fromEntries(given)) as Given;
  return {
    ...rest,
    ...(flavor === undefined ? {} : { flavor: { name: flavor, version: 0 } }),
    ...(group === undefined ? {} : { group: { policy: undefined, maxPerHost: 0, ...camelKeys(group) } as NamedGroup }),
    ...(requestGroups === undefined ? {} : { requestGroups: requestGroups.map(groupOf) }),
    projectId,
    userId,
  };
}

interface Given {
  readonly flavor?: string;
  readonly group?: object;
  readonly requestGroups?: readonly object[];
}

function groupOf(given: object): RequestGroup {
  const nothing = { resources: {}, requiredTraits: [], forbiddenTraits: [], memberOf: [], forbiddenAggregates: [] };
  return { ...nothing, inTree: undefined, ...camelKeys(given) } as unknown as RequestGroup;
}

export function admissionOf({ admission: given }: BuildBody): Partial<Admission> | undefined {
  return given && camelKeys(given);
}

/** Renames the fields of one object, not those inside them: they are the client's names. */
export function camelKeys(value: object): Record<string, unknown> {
  const renamed = Object.entries(value).map(([name, field]) => [
    name.replace(/_(\w)/g, (_, c: string) => c.toUpperCase()),
    field,
  ]);
  return Object.fromEntries(renamed) as Record<string, unknown>;
}

function countOf(minimum: number): Schema {
  return { type: 'integer', minimum, maximum: MAX_INSTANCES_PER_REQUEST };
}

function amountOfMs(): Schema {
  return { ...exactInteger, minimum: 0 };
}
