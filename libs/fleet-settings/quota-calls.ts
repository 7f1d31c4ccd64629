import { answer } from '../bus/typed-calls';
import { type Identity, requireProject } from '../contracts/identity';
import type {
  ListQuotasRequest,
  ListQuotasResponse,
  ListUsageRequest,
  ListUsageResponse,
  ProjectQuotaView,
  SetQuotaRequest,
  UnsetQuotaRequest,
} from '../contracts/quotas';
import { listQuotasMethod, listUsageMethod, setQuotaMethod, unsetQuotaMethod } from '../contracts/quotas';
import type { Clock } from '../domain/clock';
import { BerthError } from '../domain/errors';
import { indexAfter } from '../domain/names';
import { DEFAULT_PROJECT } from '../domain/quotas/quota';
import type { Mirror } from '../placement/mirror/mirror';
import type { CommitResult, PlacementStore, WriteQuota } from '../placement/port/placement-store';
import type { Log } from '../runtime/log';
import { listUsage } from './list-usage';

export interface QuotaDeps {
  readonly placement: PlacementStore;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The calls about quotas: operators set them and see all, a tenant sees its own project's. `requireReady` throws while the mirror is not ready.
 *
 * @param usage  answers for usage instead, where it is counted elsewhere
 */
export function quotaCalls(
  deps: QuotaDeps,
  requireReady: () => void,
  usage?: (request: ListUsageRequest) => Promise<ListUsageResponse>,
) {
  return {
    ...answer(listQuotasMethod, async (request, { identity }) => {
      requireReady();
      return listQuotas(ofSender(request, identity), deps);
    }),
    ...answer(setQuotaMethod, async (request) => {
      return { quota: await writeQuota(asWrite(request), deps) };
    }),
    ...answer(unsetQuotaMethod, async (request) => {
      return { quota: await writeQuota(asUnset(request), deps) };
    }),
    ...answer(listUsageMethod, async (request, { identity }) => {
      const asked = ofSender(request, identity);
      if (usage) return usage(asked);
      requireReady();
      return listUsage(asked, deps, deps.clock.now());
    }),
  };
}

/** A tenant that names no project means its own. @throws BerthError `permission_denied / wrong_project`. */
function ofSender<Q extends { readonly projectId: string }>(request: Q, identity: Identity): Q {
  const projectId = request.projectId || (identity.kind === 'project' ? identity.projectId : '');
  requireProject(identity, projectId);
  return { ...request, projectId };
}

function listQuotas({ projectId, marker, limit }: ListQuotasRequest, { mirror }: QuotaDeps): ListQuotasResponse {
  const { quotas } = mirror;
  const all = projectId === '' ? quotas.projects().filter((id) => id !== DEFAULT_PROJECT) : [projectId];
  const from = projectId === '' ? indexAfter(all, marker) : 0;
  const projects = all.slice(from, from + limit).map((id) => viewOf(id, mirror));
  return { projects, defaultLimits: quotas.defaultQuota()?.limits ?? {} };
}

function asWrite({ projectId, version, limits, borrowLimits, lendLimits = {}, cohort }: SetQuotaRequest): WriteQuota {
  return { kind: 'write_quota', projectId, version, limits, borrowLimits, lendLimits, cohort, unset: [] };
}

function asUnset({ projectId, version, classes }: UnsetQuotaRequest): WriteQuota {
  const nothing = { limits: {}, borrowLimits: {}, cohort: undefined } as const;
  return { kind: 'write_quota', projectId, version, ...nothing, unset: classes.length === 0 ? 'all' : classes };
}

/**
 * @throws BerthError `aborted / quota_changed` when it has another version than the one that is meant; `resource_exhausted /
 *   too_many_quotas`, `/ cohort_full`; `failed_precondition / not_in_cohort`; `unavailable`.
 */
async function writeQuota(write: WriteQuota, { placement, mirror, clock, log }: QuotaDeps): Promise<ProjectQuotaView> {
  const result = await placement.commit({ ...write, atMs: clock.now() });
  if (result.kind === 'committed') {
    mirror.apply(result.change);
    log.info({ event: 'quota_changed', project_id: write.projectId }, 'quota changed');
  } else if (result.kind !== 'unchanged') {
    throw refused(result);
  }
  return viewOf(write.projectId, mirror);
}

function refused(result: CommitResult): BerthError {
  if (result.kind === 'generation') {
    return new BerthError('aborted', 'quota_changed', 'the quota was changed meanwhile; look at it and decide again');
  }
  if (result.kind === 'full') {
    const [reason, what] =
      result.subject === 'quota' ? ['too_many_quotas', 'quotas'] : ['cohort_full', 'members of the cohort'];
    return new BerthError('resource_exhausted', reason, `the limit of ${result.most} ${what} is reached`);
  }
  return new BerthError('internal', 'unexpected_commit', `a quota was answered '${result.kind}'`);
}

function viewOf(projectId: string, { quotas }: Mirror): ProjectQuotaView {
  const quota = quotas.quota(projectId);
  return {
    projectId,
    version: quota?.version ?? 0,
    limits: quota?.limits ?? {},
    borrowLimits: quota?.borrowLimits ?? {},
    lendLimits: quota?.lendLimits ?? {},
    cohort: quota?.cohort ?? '',
    updatedAtMs: quota?.updatedAtMs ?? 0,
    used: projectId === DEFAULT_PROJECT ? {} : quotas.usage(projectId),
  };
}
