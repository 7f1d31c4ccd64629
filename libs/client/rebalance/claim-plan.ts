import type { PlannedMove } from '#libs/contracts/moves';
import { BerthError } from '#libs/domain/errors';
import type { Client } from '../client';
import type { Plan } from './find-plan';

interface ClaimedPlan {
  readonly plan: Extract<Plan, { kind: 'moves' }>;
  readonly operation: 'migrate' | 'live_migrate';
  /** The instances carry it, so that another run knows its own. */
  readonly name: string;
}

/** Claims all moves of a plan, as it was shown. @throws BerthError `aborted / plan_changed`; nothing is claimed then */
export async function claimPlan(
  client: Pick<Client, 'moveInstances'>,
  { plan: { moves, leaveHosts }, operation, name: plan }: ClaimedPlan,
): Promise<readonly PlannedMove[]> {
  if (moves.length === 0) return [];
  const wanted = moves.map(({ instanceUuid, destHost: targetHost }) => ({ instanceUuid, targetHost }));
  const claimed = await client.moveInstances(operation, wanted, { leaveHosts, plan });
  if (claimed.moves.length > 0) return claimed.moves;
  const message = `${claimed.refusedInstanceUuid} finds no host any more: ${claimed.refusal}; nothing was claimed, plan again`;
  throw new BerthError('aborted', 'plan_changed', message);
}
