import type { BuildRequest } from '#libs/contracts/conductor';
import { countOfAll, kindsOf } from '#libs/contracts/member-kinds';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import { listQuotasMethod } from '#libs/contracts/quotas';
import { BerthError, isRetryable } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { projectShare } from '#libs/domain/quotas/project-share';
import { INSTANCES, type QuotaExcess, sentenceOf, UNLIMITED } from '#libs/domain/quotas/quota';
import { readSpec } from '#libs/fleet-settings/fill-in-flavor';
import { lru } from '#libs/runtime/lru';
import type { ConductorContext } from '../../context';
import { callScheduler } from '../../steps/call-scheduler';

/** Age up to which a known standing may admit one more instance. */
const BELIEVED_MS = 1_000;
/** Limit of the projects with a known standing. */
const MAX_KNOWN = 1_000;
/** Limit of the instances taken while no scheduler can judge them; each project has its share of it. */
const MAX_UNJUDGED = 1_000;

/** Amounts that a project holds, and its limits with what it may borrow. */
interface Standing {
  readonly used: Resources;
  readonly limits: Resources;
  readonly readAtMs: number;
}

/** Judges requests by the quotas of their projects before anything of them is written. */
export class QuotaJudge {
  readonly #known = lru<string, Standing>(MAX_KNOWN);
  readonly #unjudged = new Map<string, number>();

  /**
   * Refuses a request that its project's quota can't hold: before a record of any instance is written, for each would be stored,
   * announced, refused, and kept until it is forgotten. A gang needs room for its `min_count` only, and who may wait for capacity
   * also waits for what others of its project hold. What comes again passes. While no scheduler answers some are taken unjudged; the
   * others wait in their queue.
   *
   * @throws BerthError `failed_precondition / quota_exceeded`; `unavailable / quota_unknown`
   */
  async require(c: ConductorContext, request: BuildRequest): Promise<void> {
    const { projectId } = readSpec(request.requestSpec);
    const known = this.#known.get(projectId);
    const isBelieved = known !== undefined && c.clock.now() - known.readAtMs < BELIEVED_MS && countOfAll(request) === 1;
    if (isBelieved && excessOf(request, known).length === 0) return;
    const standing = await readStanding(c, projectId);
    const excess = standing ? excessOf(request, standing) : undefined;
    if (standing) {
      this.#known.set(projectId, standing);
      this.#unjudged.clear();
    }
    if (excess?.length === 0 || (await c.instances.list({ requestId: request.requestId }, undefined, 1)).length > 0)
      return;
    if (excess === undefined) return this.#takeUnjudged(projectId, countOfAll(request));
    const message = `${sentenceOf(excess)}: ask for fewer instances, end some, or have the quota of project '${projectId}' raised`;
    throw new BerthError('failed_precondition', 'quota_exceeded', message);
  }

  #takeUnjudged(projectId: string, count: number): void {
    const ofAll = [...this.#unjudged.values()].reduce((sum, one) => sum + one, count);
    const ofProject = (this.#unjudged.get(projectId) ?? 0) + count;
    if (ofAll <= MAX_UNJUDGED && ofProject <= projectShare(MAX_UNJUDGED)) {
      this.#unjudged.set(projectId, ofProject);
      return;
    }
    const message = `no scheduler says what project '${projectId}' may hold; its request waits until one does`;
    throw new BerthError('unavailable', 'quota_unknown', message);
  }
}

function excessOf(request: BuildRequest, standing: Standing): readonly QuotaExcess[] {
  const { admission } = request;
  const { projectId } = readSpec(request.requestSpec);
  const needed = neededBy(request);
  const isWaiting = (admission?.waitForCapacityMs ?? 0) > 0;
  const excess: QuotaExcess[] = [];
  for (const [resourceClass, limit] of Object.entries(standing.limits)) {
    const used = standing.used[resourceClass] ?? 0;
    const asked = needed[resourceClass] ?? 0;
    if (asked === 0 || asked + (isWaiting ? 0 : used) <= limit) continue;
    excess.push({ scope: 'project', name: projectId, resourceClass, used, asked, limit });
  }
  return excess;
}

/** The amounts of as many instances of each kind as are enough. */
function neededBy(request: BuildRequest): Resources {
  const needed: Record<string, number> = { [INSTANCES]: 0 };
  for (const { requestSpec, count, minCount } of kindsOf(request)) {
    const times = minCount || count;
    const each = { ...readSpec(requestSpec).resources, [INSTANCES]: 1 };
    for (const [name, amount] of Object.entries(each)) needed[name] = (needed[name] ?? 0) + times * amount;
  }
  return needed;
}

/** The standing by a scheduler's word; undefined while none answers. */
async function readStanding(c: ConductorContext, projectId: string): Promise<Standing | undefined> {
  try {
    const request = { projectId, marker: '', limit: 1 };
    const { projects, defaultLimits } = await callScheduler(c, listQuotasMethod, request);
    const own = projects.find((one) => one.projectId === projectId);
    return { used: own?.used ?? {}, limits: limitsOf(own, defaultLimits), readAtMs: c.clock.now() };
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
