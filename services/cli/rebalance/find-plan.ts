import type { Client } from '#libs/client/client';
import type { MoveInstancesRequest, PlannedMove } from '#libs/contracts/moves';
import type { RequestSpec } from '#libs/domain/request-spec';
import { defragmenting } from './defragment';
import { emptying, evening, type Fleet, freeing, type Wish } from './plan';

/** What moves are to reach. */
export type Goal =
  /** Nothing is left on these hosts. */
  | { readonly kind: 'empty'; readonly hosts: readonly string[] }
  /** Some host can take an instance as this one. */
  | { readonly kind: 'admit'; readonly spec: RequestSpec }
  /** The fullest and the emptiest hosts come closer. */
  | { readonly kind: 'even_out' }
  /** There is more room for what is asked for, by so many moves at most. */
  | { readonly kind: 'defragment'; readonly most: number };

export type Plan =
  /** Each move as a scheduler decided it, and the hosts to which nothing goes. */
  | { readonly kind: 'moves'; readonly moves: readonly PlannedMove[]; readonly leaveHosts: readonly string[] }
  | { readonly kind: 'impossible'; readonly why: string };

/** What finding a plan needs of a client. */
export type PlanningClient = Pick<Client, 'moveInstances' | 'explain'>;

/** So often a scheduler is asked about one goal. */
const MAX_ASKED = 20;

/**
 * The moves that reach a goal. Where instances go is the scheduler's to say, and so is which of them make room for a request: the
 * moves are asked of it as a dry run, so that traits, zones, tenants and groups are its own. A wish that it refuses gives way to the
 * next.
 *
 * @throws BerthError as `moveInstances` and `explain`.
 */
export async function findPlan(
  client: PlanningClient,
  operation: MoveInstancesRequest['operation'],
  fleet: Fleet,
  goal: Goal,
): Promise<Plan> {
  let why = 'no host has room for it after a few moves';
  const stay = new Set<string>();
  let asked = 0;
  for await (const { moves, leaveHosts } of wishesFor(client, fleet, goal, stay)) {
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
async function* wishesFor(
  client: PlanningClient,
  fleet: Fleet,
  goal: Goal,
  stay: ReadonlySet<string>,
): AsyncGenerator<Wish> {
  switch (goal.kind) {
    case 'empty':
      return yield emptying(fleet, goal.hosts);
    case 'admit':
      return yield* admitting(client, fleet, goal.spec, stay);
    case 'even_out':
      for (;;) yield evening(fleet, stay);
    case 'defragment':
      for (;;) yield defragmenting(fleet, goal.most, stay);
  }
}

/** Nothing, if some host can take it; else the host that has to lose the fewest instances for it, until none is left that may go. */
async function* admitting(
  client: PlanningClient,
  { instances }: Fleet,
  spec: RequestSpec,
  stay: ReadonlySet<string>,
): AsyncGenerator<Wish> {
  const stuck = instances.filter(({ isMovable }) => !isMovable).map(({ uuid }) => uuid);
  for (;;) {
    const stayingInstanceUuids = [...stuck, ...stay];
    const { hosts, displacement } = await client.explain(spec, { limit: 1, mayDisplace: true, stayingInstanceUuids });
    if (hosts.length > 0) return yield { moves: [], leaveHosts: [] };
    if (displacement === undefined) return;
    yield freeing(displacement.host, displacement.instanceUuids);
  }
}
