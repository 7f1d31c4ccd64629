import { listQuotasMethod } from '#libs/contracts/quotas';
import { BerthError } from '#libs/domain/errors';
import { type Admission, PRIORITY_LIMIT } from '#libs/domain/queueing/admission';
import { UNLIMITED } from '#libs/domain/quotas/quota';
import type { Conductor } from '../../conductor';
import { callScheduler } from '../../steps/call-scheduler';

/**
 * Refuses a priority above the limit of the project's quota; where no quota says one, above the setting. Up to 0 is
 * everybody's, so that most requests ask nobody.
 *
 * @throws BerthError `permission_denied / priority_too_high`; `unavailable` while no scheduler answers.
 */
export async function requirePriority(
  c: Conductor,
  projectId: string,
  { priority }: Pick<Admission, 'priority'>,
): Promise<void> {
  if (priority <= 0) return;
  const most = await highestOf(c, projectId);
  if (most === UNLIMITED || priority <= most) return;
  const message = `priority ${priority} is above ${most}, the highest for project '${projectId}' (quota ${PRIORITY_LIMIT})`;
  throw new BerthError('permission_denied', 'priority_too_high', message);
}

async function highestOf(c: Conductor, projectId: string): Promise<number> {
  const request = { projectId, marker: '', limit: 1 };
  const { projects, defaultLimits } = await callScheduler(c, listQuotasMethod, request);
  const own = projects.find((one) => one.projectId === projectId)?.limits[PRIORITY_LIMIT];
  return own ?? defaultLimits[PRIORITY_LIMIT] ?? c.config.maxPriority;
}
