import type { RequestGroup } from '#libs/domain/request-spec';
import { candidateQuery } from '../candidate-query';
import { SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { knowsNamesOf } from '../unknown-names';
import { candidatesText } from './candidates-text';

/** GET /allocation_candidates */
export async function listCandidates({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = candidateQuery(query, version, placement.limits.requestGroups);
  const view = await placement.now();
  // The schema has seen the last one.
  const limit = Number(query.all('limit')[0]) || undefined;
  const nestedAware = version >= SINCE.nestedCandidates;
  const isMet = (group: RequestGroup) =>
    placement.candidates({ ...asked, groups: [group], sameSubtrees: [] }, { limit: 1 }).candidates.length > 0;
  const found = knowsNamesOf(view, asked, isMet)
    ? placement.candidates(asked, { nestedAware, ...(limit === undefined ? {} : { limit }) })
    : { candidates: [], summaries: [] };
  const classes = new Set(asked.groups.flatMap(({ resources }) => Object.keys(resources)));
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  return { status: 200, json: candidatesText(view, found, shown, version), lastModifiedMs: 'now' };
}
