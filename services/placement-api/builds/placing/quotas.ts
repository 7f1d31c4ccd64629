import { MAX_PAGE } from '#libs/contracts/limits';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import type { Answer } from '../../http/request';
import { exactInteger, exactly, integer, keyed, list, orNull, shortText, text, whole } from '../../schemas/parts';
import type { BuildCall } from '../build-call';
import { projectOf } from '../caller';

/** By resource class, and of `instances`, `priority`, `reclaim` and `weight`. */
const amounts = keyed('^([A-Z0-9_]+|instances|priority|reclaim|weight)$', exactInteger);

export const quotaSchema = whole({
  project_id: orNull(text),
  version: integer,
  limits: amounts,
  borrow_limits: amounts,
  lend_limits: amounts,
  cohort: orNull(text),
  used: amounts,
  updated_at_ms: integer,
});
export const quotasSchema = whole({ quotas: list(quotaSchema), default_limits: amounts, next_marker: orNull(text) });

/** GET /berth/quotas */
export const quotasQuery = exactly({ project_id: shortText, marker: text });
/** PUT /berth/quotas/{project_id} and /berth/default-quota */
export const quotaBody = exactly({
  version: { ...exactInteger, minimum: 0 },
  limits: amounts,
  borrow_limits: amounts,
  lend_limits: amounts,
  cohort: orNull({ type: 'string', maxLength: 255 }),
});
/** DELETE of these */
export const unsetQuery = exactly({ classes: text });

interface QuotaBody {
  readonly version?: number;
  readonly limits?: Readonly<Record<string, number>>;
  readonly borrow_limits?: Readonly<Record<string, number>>;
  readonly lend_limits?: Readonly<Record<string, number>>;
  readonly cohort?: string | null;
}

/** GET /berth/quotas: of a tenant its own; for operators of all projects that have one or hold anything, page by page. */
export async function listQuotas({ caller, client, query }: BuildCall): Promise<Answer> {
  const projectId = projectOf(caller, query.last('project_id')) ?? '';
  const asked = { projectId, marker: query.last('marker') ?? '', limit: MAX_PAGE };
  const { projects, defaultLimits } = await (await client()).quotasPage(asked);
  const next = projectId === '' && projects.length === MAX_PAGE ? projects.at(-1)?.projectId : undefined;
  const quotas = projects.map(quotaJson);
  return { status: 200, body: { quotas, default_limits: defaultLimits, next_marker: next ?? null } };
}

/** PUT /berth/quotas/{project_id}, or the default's: limits that are not named stay. @throws BerthError `aborted / quota_changed`. */
export async function setQuota({ client, params, body }: BuildCall): Promise<Answer> {
  const {
    version = 0,
    limits = {},
    borrow_limits: borrowLimits = {},
    lend_limits: lendLimits = {},
    cohort,
  } = body as QuotaBody;
  const change = { version, limits, borrowLimits, lendLimits };
  const ofCohort = cohort === undefined ? {} : { cohort: cohort ?? '' };
  const quota = await (await client()).setQuota(params.project_id, { ...change, ...ofCohort });
  return { status: 200, body: quotaJson(quota) };
}

/** DELETE of these: the limits of some classes, or the whole quota; the default's hold again. */
export async function unsetQuota({ client, params, query }: BuildCall): Promise<Answer> {
  const classes = query.last('classes')?.split(',') ?? [];
  return { status: 200, body: quotaJson(await (await client()).unsetQuota(params.project_id, classes)) };
}

function quotaJson({
  projectId,
  version,
  limits,
  borrowLimits,
  lendLimits,
  cohort,
  used,
  updatedAtMs,
}: ProjectQuotaView) {
  return {
    project_id: projectId || null,
    version,
    limits,
    borrow_limits: borrowLimits,
    lend_limits: lendLimits ?? {},
    cohort: cohort || null,
    used,
    updated_at_ms: updatedAtMs,
  };
}
