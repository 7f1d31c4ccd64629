import type { RequestGroup } from '#libs/domain/request-spec';
import type { CandidateQuery } from '#libs/placement/search/query';
import { repr } from './http/fault-text';
import { badRequest, ERROR_CODE } from './http/http-error';
import { type Microversion, SINCE } from './http/microversion';
import type { Query } from './http/query';
import { aggregatesOf, commaList, resourcesOf, traitsIn, traitsOf, treeOf } from './query-values';
import { NAMED_GROUP, NUMBERED_GROUP } from './schemas/parts';

/**
 * Translates the schema-valid query string of GET /allocation_candidates to a search query.
 *
 * @throws HttpError 400 for faults that the schema can't express: malformed values, incomplete or contradictory groups.
 */
export function candidateQuery(query: Query, version: Microversion, maxGroups: number): CandidateQuery {
  const rootTraits = rootTraitsOf(query);
  const sameSubtrees = query.all('same_subtree').map(subtreeOf);
  const suffixes = suffixesIn(query, version);
  if (suffixes.length > maxGroups) throw badRequest(`more than ${maxGroups} request groups`);
  const groups = suffixes.map((suffix) => groupOf(query, suffix, version));
  if (version >= SINCE.groupsWithoutResources) requireSubtreesOfGroups(groups, sameSubtrees);
  else requireResources(groups);
  if (version >= SINCE.forbiddenTraits) requireNoContradiction(groups);
  const groupPolicy = query.all('group_policy')[0];
  if (groupPolicy === undefined && groups.filter(({ suffix }) => suffix !== '').length > 1) {
    throw badRequest(
      'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.',
    );
  }
  return {
    groups,
    groupPolicy: groupPolicy === 'isolate' ? 'isolate' : 'none',
    sameSubtrees,
    rootRequiredTraits: rootTraits.required.flat(),
    rootForbiddenTraits: rootTraits.forbidden,
  };
}

function rootTraitsOf(query: Query) {
  const [value, ...more] = query.all('root_required');
  if (value === undefined) return { required: [], forbidden: [] };
  if (more.length > 0) {
    throw badRequest("Query parameter 'root_required' may be specified only once.", ERROR_CODE.duplicateKey);
  }
  const traits = traitsIn(value, SINCE.forbiddenTraits);
  const forbidden = new Set(traits.forbidden);
  const both = traits.required.flat().filter((trait) => forbidden.has(trait));
  if (both.length === 0) return traits;
  const detail = `Conflicting required and forbidden traits found in root_required: ${both.join(', ')}`;
  throw badRequest(detail, ERROR_CODE.badValue);
}

function subtreeOf(value: string): string[] {
  const suffixes = [...new Set(commaList(value))];
  if (!suffixes.includes('')) return suffixes;
  const detail = 'Empty string (unsuffixed group) can not be specified in `same_subtree` ';
  throw badRequest(detail, ERROR_CODE.badValue);
}

function suffixesIn(query: Query, version: Microversion): string[] {
  const group = version >= SINCE.namedGroups ? NAMED_GROUP : NUMBERED_GROUP;
  const pattern = new RegExp(`^(?:resources|required|member_of|in_tree)(${group})?$`);
  const matches = Object.keys(query.asObject()).flatMap((name) => {
    const match = pattern.exec(name);
    return match ? [match[1] ?? ''] : [];
  });
  return [...new Set(matches)];
}

function groupOf(query: Query, suffix: string, version: Microversion): RequestGroup {
  const traits = traitsOf(query, suffix, version);
  const aggregates = aggregatesOf(query, suffix, version);
  const inTree = query.last(`in_tree${suffix}`);
  return {
    suffix,
    resources: resourcesOf(query.last(`resources${suffix}`)),
    requiredTraits: traits.required,
    forbiddenTraits: traits.forbidden,
    memberOf: aggregates.required,
    forbiddenAggregates: aggregates.forbidden,
    inTree: inTree === undefined ? undefined : treeOf(inTree),
  };
}

/** Since 1.36 a group in a same_subtree needs no resources. */
function requireSubtreesOfGroups(groups: readonly RequestGroup[], sameSubtrees: readonly (readonly string[])[]): void {
  const bare = groups.filter(isBare).map(({ suffix }) => suffix);
  if (bare.length === groups.length) {
    const detail = 'There must be at least one resources or resources[$S] parameter.';
    throw badRequest(detail, ERROR_CODE.missingValue);
  }
  const named = new Set(sameSubtrees.flat());
  const stray = bare.filter((suffix) => !named.has(suffix));
  if (stray.length > 0) {
    const detail = `Resourceless suffixed group request should be specified in \`same_subtree\` query param: bad group(s) - ${repr(stray)}.`;
    throw badRequest(detail, ERROR_CODE.badValue);
  }
  const suffixes = groups.map(({ suffix }) => suffix);
  const real = new Set(suffixes);
  const unreal = [...named].filter((suffix) => !real.has(suffix));
  if (unreal.length > 0) {
    const detail = `Real suffixes should be specified in \`same_subtree\`: ${repr(unreal)} not found in ${repr(suffixes)}.`;
    throw badRequest(detail, ERROR_CODE.badValue);
  }
}

function requireResources(groups: readonly RequestGroup[]): void {
  const bare = groups.filter(isBare);
  const keysOf = (name: string, isAsked: (group: RequestGroup) => boolean) =>
    bare.filter(isAsked).map(({ suffix }) => name + suffix);
  const must = 'must be associated with resources.';
  const traits = keysOf('required', ({ requiredTraits }) => requiredTraits.length > 0);
  if (traits.length > 0) {
    throw badRequest(`All traits parameters ${must}  Found the following orphaned traits keys: ${traits.join(', ')}`);
  }
  const members = keysOf('member_of', (group) => group.memberOf.length + group.forbiddenAggregates.length > 0);
  if (members.length > 0) {
    throw badRequest(
      `All member_of parameters ${must} Found the following orphaned member_of keys: ${members.join(', ')}`,
    );
  }
  if (bare.length > 0) throw badRequest('All request groups must specify resources.');
  if (groups.length === 0) {
    throw badRequest('At least one request group (`resources` or `resources{$S}`) is required.');
  }
}

function requireNoContradiction(groups: readonly RequestGroup[]): void {
  const contradictions = groups.flatMap(({ suffix, requiredTraits, forbiddenTraits }) => {
    const forbidden = new Set(forbiddenTraits);
    return requiredTraits
      .filter((anyOf) => anyOf.every((trait) => forbidden.has(trait)))
      .map((anyOf) => `required${suffix}: (${anyOf.toSorted().join(', ')})`);
  });
  if (contradictions.length === 0) return;
  throw badRequest(
    `Conflicting required and forbidden traits found in the following traits keys: ${contradictions.sort().join(', ')}`,
  );
}

function isBare({ resources }: RequestGroup): boolean {
  return Object.keys(resources).length === 0;
}
