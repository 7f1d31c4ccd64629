import type { Diagnosis, ExplainResponse } from '#libs/contracts/diagnosis';
import { type Identity, speaksForProject } from '#libs/contracts/identity';
import type { PlacementView } from '#libs/placement/port/placement-view';

/**
 * An explanation as its asker may see it: of those whose place the request would take a tenant sees its own instances, and where others
 * would make room it is not told, nor what others of its cohort use.
 */
export function shownTo(
  asker: Identity,
  { preemption, ...answer }: ExplainResponse,
  view: Pick<PlacementView, 'consumer'>,
): ExplainResponse {
  const explained = { ...answer, diagnosis: diagnosisFor(asker, answer.diagnosis) };
  if (preemption === undefined) return explained;
  const victims = preemption.victims.filter(({ instanceUuid }) => {
    return speaksForProject(asker, view.consumer(instanceUuid)?.projectId ?? '');
  });
  return { ...explained, preemption: { ...preemption, victims } };
}

/** A diagnosis without the sums of a cohort, for a tenant: less its own, they are what others use. */
export function diagnosisFor(asker: Identity, diagnosis: Diagnosis): Diagnosis {
  if (asker.kind === 'service') return diagnosis;
  const isOwn = ({ scope }: Diagnosis['quotaExceeded'][number]) => scope === 'project';
  return { ...diagnosis, quotaExceeded: diagnosis.quotaExceeded.filter(isOwn) };
}
