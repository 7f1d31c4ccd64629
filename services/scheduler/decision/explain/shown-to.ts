import type { ExplainResponse } from '#libs/contracts/diagnosis';
import { diagnosisFor } from '#libs/contracts/diagnosis-for';
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
