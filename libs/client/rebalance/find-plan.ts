import type { Client } from '#libs/client/client';
import type { MoveInstancesRequest, PlannedMove } from '#libs/contracts/moves';
import type { RequestSpec } from '#libs/domain/request-spec';
import { defragmenting } from './defragment';
import { emptying, evening, type Fleet, freeing, type Wish } from './plan';

/** The goal of a plan. */
export type Goal =
  /** These hosts become empty. */
  | { readonly kind: 'empty'; readonly hosts: readonly string[] }
  /** Some host can take such an instance. */
  | { readonly kind: 'admit'; readonly spec: RequestSpec }
  /** The fullest and the emptiest hosts come closer. */
  | { readonly kind: 'even_out' }
  /** More capacity for typical requests, with at most this many moves. */
  | { readonly kind: 'defragment'; readonly most: number };

export type Plan =
  /** Each move as a scheduler decided it, and the hosts that take none. */
  | { readonly kind: 'moves'; readonly moves: readonly PlannedMove[]; readonly leaveHosts: readonly string[] }
  | { readonly kind: 'impossible'; readonly why: string };

/** The client methods that planning uses. */
export type PlanningClient = Pick<Client, 'moveInstances' | 'explain'>;

/** Limit of the calls to a scheduler for one goal. */
const MAX_ASKED = 20;

/**
 * The moves that reach a goal. The scheduler decides destinations, and which instances make room for a request: the
 * moves are requested as a dry run, so that traits, zones, tenants and groups follow its rules. When it refuses a wish,
 * the next is tried.
 *
 * @throws BerthError as in `moveInstances` and `explain`.
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

/**
 * Wishes that would reach a goal, fewest moves first. `stay` are instances for which a scheduler has found no host so
 * far.
 */
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

/**
 * No move if some host can take it; else empties the host that has to lose the fewest instances, then the next, until
 * none is left.
 */
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
