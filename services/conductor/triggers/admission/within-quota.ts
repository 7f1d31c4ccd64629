import type { BuildRequest } from '#libs/contracts/conductor';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import { listQuotasMethod } from '#libs/contracts/quotas';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { INSTANCES, type QuotaExcess, sentenceOf, UNLIMITED } from '#libs/domain/quotas/quota';
import { readSpec } from '#libs/flavors/fill-in-flavor';
import type { Conductor } from '../../context';
import { callScheduler } from '../../steps/call-scheduler';

/**
 * Refuses a request of several instances that its project's quota can't hold: before a record of any is written, for a thousand
 * would each be stored, announced, refused, and kept until they are forgotten. A gang needs room for its `min_count` only,
 * and who may wait for capacity also waits for what others of its project hold. One instance is judged by a scheduler as
 * ever, and so is all that comes again, or while no scheduler answers.
 *
 * @throws BerthError `failed_precondition / quota_exceeded`
 */
export async function requireQuota(c: Conductor, request: BuildRequest): Promise<void> {
  const { count, requestId, minCount = 0, admission } = request;
  if (count <= 1) return;
  const { projectId, resources } = readSpec(request.requestSpec);
  const standing = await standingOf(c, projectId);
  if (standing === undefined) return;
  const needed = minCount || count;
  const isWaiting = (admission?.waitForCapacityMs ?? 0) > 0;
  const excess: QuotaExcess[] = [];
  for (const [resourceClass, limit] of Object.entries(standing.limits)) {
    const used = standing.used[resourceClass] ?? 0;
    const asked = needed * (resourceClass === INSTANCES ? 1 : (resources[resourceClass] ?? 0));
    if (asked === 0 || asked + (isWaiting ? 0 : used) <= limit) continue;
    excess.push({ scope: 'project', name: projectId, resourceClass, used, asked, limit });
  }
  if (excess.length === 0 || (await c.instances.list({ requestId }, undefined, 1)).length > 0) return;
  const message = `${sentenceOf(excess)}: ask for fewer instances, end some, or have the quota of project '${projectId}' raised`;
  throw new BerthError('failed_precondition', 'quota_exceeded', message);
}

/** What a project holds and may hold, with what it may borrow; undefined while nobody can say. */
async function standingOf(c: Conductor, projectId: string) {
  try {
    const request = { projectId, marker: '', limit: 1 };
    const { projects, defaultLimits } = await callScheduler(c, listQuotasMethod, request);
    const own = projects.find((one) => one.projectId === projectId);
    return { used: own?.used ?? {}, limits: limitsOf(own, defaultLimits) };
  } catch (thrown) {
    if (isRetryable(BerthError.from(thrown))) return undefined;
    throw thrown;
  }
}

function limitsOf(own: ProjectQuotaView | undefined, defaultLimits: Resources): Resources {
  const limits: Record<string, number> = {};
  for (const [name, limit] of Object.entries({ ...defaultLimits, ...own?.limits })) {
    const borrows = own === undefined || own.cohort === '' ? 0 : (own.borrowLimits[name] ?? UNLIMITED);
    if (limit !== UNLIMITED && borrows !== UNLIMITED) limits[name] = limit + borrows;
  }
  return limits;
}
