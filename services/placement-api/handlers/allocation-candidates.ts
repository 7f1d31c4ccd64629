import { candidateQuery } from '../candidate-query';
import { HttpError } from '../http/http-error';
import { SINCE } from '../http/microversion';
import type { Answer, ApiRequest } from '../http/request';
import type { Placement } from '../placement';
import { unknownClass, unknownTraits } from '../query-values';
import { candidatesText } from './candidates-text';

/** GET /allocation_candidates */
export async function listCandidates({ query, version }: ApiRequest, placement: Placement): Promise<Answer> {
  const asked = candidateQuery(query, version, placement.limits.requestGroups);
  const view = await placement.now();
  const classes = new Set(asked.groups.flatMap(({ resources }) => Object.keys(resources)));
  const noClass = unknownClass(view, [...classes]);
  if (noClass !== undefined) {
    throw new HttpError(400, `Invalid resource class in resources parameter: No such resource class ${noClass}.`);
  }
  const traits = asked.groups.flatMap((group) => [...group.requiredTraits.flat(), ...group.forbiddenTraits]);
  const noTraits = unknownTraits(view, [...traits, ...asked.rootRequiredTraits, ...asked.rootForbiddenTraits]);
  if (noTraits !== undefined) throw new HttpError(400, `No such trait(s): ${noTraits}.`);
  const limit = query.all('limit')[0];
  const nestedAware = version >= SINCE.nestedCandidates;
  const found = placement.candidates(asked, {
    nestedAware,
    ...(limit === undefined ? {} : { limit: Number(limit) }),
  });
  const shown = version >= SINCE.allClassesInSummaries ? undefined : classes;
  return { status: 200, json: candidatesText(view, found, shown, version), lastModifiedMs: 'now' };
}
