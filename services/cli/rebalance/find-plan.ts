import type { Client } from '#libs/client/client';
import type { MoveInstancesRequest, PlannedMove } from '#libs/contracts/messages';
import type { Resources } from '#libs/domain/inventory';
import { admitting, emptying, evening, type Fleet, type Wish } from './plan';

/** What moves are to reach. */
export type Goal =
  /** Nothing is left on these hosts. */
  | { readonly kind: 'empty'; readonly hosts: readonly string[] }
  /** Some host has room for so much. */
  | { readonly kind: 'admit'; readonly resources: Resources }
  /** The fullest and the emptiest hosts come closer. */
  | { readonly kind: 'even_out' };

export type Plan =
  /** Each move as a scheduler decided it, and the hosts to which nothing goes. */
  | { readonly kind: 'moves'; readonly moves: readonly PlannedMove[]; readonly leaveHosts: readonly string[] }
  | { readonly kind: 'impossible'; readonly why: string };

/** So often a scheduler is asked about one goal. */
const MAX_ASKED = 20;

/**
 * The moves that reach a goal. Which instances go is found by amounts, where they go is the scheduler's to say: the moves are asked of
 * it as a dry run, so that traits, zones, tenants and groups are its own. A wish that it refuses gives way to the next.
 *
 * @throws BerthError as `moveInstances`.
 */
export async function findPlan(
  client: Pick<Client, 'moveInstances'>,
  operation: MoveInstancesRequest['operation'],
  fleet: Fleet,
  goal: Goal,
): Promise<Plan> {
  let why = 'no host has room for it after a few moves';
  const stay = new Set<string>();
  let asked = 0;
  for (const { moves, leaveHosts } of wishesFor(fleet, goal, stay)) {
    if (moves.length === 0) return { kind: 'moves', moves: [], leaveHosts };
    const stuck = fleet.instances.find((one) => !one.isMovable && moves.some((move) => move.instanceUuid === one.uuid));
    if (stuck) return { kind: 'impossible', why: `${stuck.uuid} on ${stuck.host} can not be moved now` };
    const answer = await client.moveInstances(operation, moves, { leaveHosts, dryRun: true });
    if (answer.moves.length > 0) return { kind: 'moves', moves: answer.moves, leaveHosts };
    why = `${answer.refusedInstanceUuid} finds no host: ${answer.refusal}`;
    stay.add(answer.refusedInstanceUuid);
    if (++asked === MAX_ASKED) break;
  }
  return { kind: 'impossible', why };
}

/** Wishes that would reach a goal, the fewest moves first. `stay` are instances that a scheduler has found no host for by then. */
function* wishesFor(fleet: Fleet, goal: Goal, stay: ReadonlySet<string>): Generator<Wish> {
  switch (goal.kind) {
    case 'empty':
      return yield emptying(fleet, goal.hosts);
    case 'admit':
      return yield* admitting(fleet, goal.resources);
    case 'even_out':
      for (;;) yield evening(fleet, stay);
  }
}
