import { MAX_PAGE } from '#libs/contracts/limits';
import type { FairShareView } from '#libs/contracts/quotas';
import type { Answer } from '../../http/request';
import { exactly, integer, list, orNull, type Schema, shortText, text, whole } from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { projectOf } from '../caller';

const number: Schema = { type: 'number' };

export const fairShareSchema = whole({
  project_id: text,
  number,
  now: number,
  now_class: orNull(text),
  lately: number,
  lately_class: orNull(text),
  weight: integer,
  rank: integer,
});
export const fairSharesSchema = whole({
  half_life_ms: integer,
  shares: list(fairShareSchema),
  next_marker: orNull(text),
});

/** GET /berth/fair-shares */
export const fairSharesQuery = exactly({ project_id: shortText, marker: text });

/**
 * GET /berth/fair-shares: what projects use and used lately, as parts of the fleet by their scarcest class; of those who wait
 * the lowest number goes first. Of a tenant its own. With a half-life of 0 they take turns, and no share is listed.
 */
export async function listFairShares({ caller, client, query }: BuildCall): Promise<Answer> {
  const projectId = projectOf(caller, query.last('project_id')) ?? '';
  const asked = { projectId, marker: query.last('marker') ?? '', limit: MAX_PAGE };
  const { halfLifeMs, shares } = await (await client()).fairSharesPage(asked);
  const next = projectId === '' && shares.length === MAX_PAGE ? shares.at(-1)?.projectId : undefined;
  return {
    status: 200,
    body: { half_life_ms: halfLifeMs, shares: shares.map(fairShareJson), next_marker: next ?? null },
  };
}

export function fairShareJson({ projectId, now, nowClass, lately, latelyClass, weight, rank }: FairShareView) {
  return {
    project_id: projectId,
    number: (now + lately) / weight,
    now,
    now_class: nowClass || null,
    lately,
    lately_class: latelyClass || null,
    weight,
    rank,
  };
}
