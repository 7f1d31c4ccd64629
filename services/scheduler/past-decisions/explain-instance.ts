import { decisionCodec, type ExplainInstanceResponse } from '#libs/contracts/diagnosis';
import { diagnosisFor } from '#libs/contracts/diagnosis-for';
import { type Identity, speaksForProject } from '#libs/contracts/identity';
import { BerthError } from '#libs/domain/errors';
import type { PlacementStore } from '#libs/placement/port/placement-store';

/**
 * The last decision for an instance or a request; tenants see those of their own instances only.
 *
 * @throws BerthError `not_found / no_such_decision`: nothing was decided, it is not kept any more, or it is another's.
 */
export async function explainInstance(
  uuid: string,
  sender: Identity,
  placement: Pick<PlacementStore, 'decision'>,
): Promise<ExplainInstanceResponse> {
  const kept = await placement.decision(uuid);
  const decision = kept && decisionCodec.decode(kept);
  if (decision && speaksForProject(sender, decision.projectId))
    return { decision: { ...decision, diagnosis: diagnosisFor(sender, decision.diagnosis) } };
  throw new BerthError('not_found', 'no_such_decision', `no decision for ${uuid} is kept`);
}
