import { berth } from '#generated/berth';
import { hostName, hostNameOrEmpty, hostNames, name, text, uuid, uuidOrEmpty } from './checks';
import { diagnosis } from './diagnosis';
import { enumBy, flag, list, optional, orUndefined, requiredList } from './fields';
import { MAX_MOVES } from './limits';
import { message, type PlainOf } from './message';
import { MANY, ofServices } from './message-rules';
import { requestSpec } from './request-spec';
import { destination, move } from './selection';

const { scheduler, conductor } = { scheduler: berth.scheduler.v1, conductor: berth.conductor.v1 };
const { InstanceOperation } = conductor;

/** `targetHost` is '' for any host. */
const instanceMove = message(conductor.InstanceMove, { instanceUuid: uuid, targetHost: hostNameOrEmpty });
export type InstanceMove = PlainOf<typeof instanceMove>;

const plannedMove = message(conductor.PlannedMove, { instanceUuid: uuid, sourceHost: hostName, destHost: hostName });
export type PlannedMove = PlainOf<typeof plannedMove>;

/** To `rpc.conductor`: claims several migrations at once, all or none; a dry run says where they would go. For operators. */
export const moveInstancesMethod = {
  request: message(
    conductor.MoveInstancesRequest,
    {
      operation: enumBy({
        migrate: InstanceOperation.INSTANCE_OPERATION_MIGRATE,
        live_migrate: InstanceOperation.INSTANCE_OPERATION_LIVE_MIGRATE,
      }),
      moves: requiredList(instanceMove, MAX_MOVES),
      leaveHosts: hostNames,
      dryRun: flag,
      /** A name for the moves together. */
      plan: optional(name),
    },
    { rule: ofServices(MANY) },
  ),
  response: message(conductor.MoveInstancesResponse, {
    moves: list(plannedMove, MAX_MOVES),
    refusedInstanceUuid: uuidOrEmpty,
    refusal: text,
  }),
};
export type MoveInstancesRequest = PlainOf<typeof moveInstancesMethod.request>;
export type MoveInstancesResponse = PlainOf<typeof moveInstancesMethod.response>;

/** An instance that is moved together with others. */
const moveToClaim = message(scheduler.MoveToClaim, {
  instanceUuid: uuid,
  requestSpec,
  /** Undefined for an evacuation, which leaves nothing to go back to. */
  move: orUndefined(move),
});
export type MoveToClaim = PlainOf<typeof moveToClaim>;

/** To `rpc.scheduler`: claims a destination for each of some instances that are moved, in one commit. For conductors. */
export const claimMovesMethod = {
  request: message(
    scheduler.ClaimMovesRequest,
    { moves: requiredList(moveToClaim, MAX_MOVES), dryRun: flag },
    { rule: ofServices(50_000) },
  ),
  /** A destination of each, or none, and which one has none and why. */
  response: message(scheduler.ClaimMovesResponse, {
    destinations: list(destination, MAX_MOVES),
    noValidHost: orUndefined(diagnosis),
    refusedInstanceUuid: uuidOrEmpty,
  }),
};
export type ClaimMovesRequest = PlainOf<typeof claimMovesMethod.request>;
export type ClaimMovesResponse = PlainOf<typeof claimMovesMethod.response>;
