import { berth } from '#generated/berth';
import {
  enumeration,
  hostName,
  hostNameOrEmpty,
  hostNames,
  list,
  missing,
  optionalName,
  text,
  uuid,
  uuidOrEmpty,
} from './checks';
import { codec, type Method, type Mutable } from './codec';
import { diagnosisFromWire } from './diagnosis';
import { MAX_MOVES } from './limits';
import type {
  ClaimMovesRequest,
  ClaimMovesResponse,
  Destination,
  Diagnosis,
  InstanceMove,
  MoveInstancesRequest,
  MoveInstancesResponse,
  MoveToClaim,
  PlannedMove,
} from './messages';
import { specFromWire, specToWire } from './request-spec';
import { destinationFromWire, moveFromWire } from './selection';

const { scheduler, conductor } = { scheduler: berth.scheduler.v1, conductor: berth.conductor.v1 };
const { InstanceOperation } = conductor;
const OPERATIONS = enumeration({
  migrate: InstanceOperation.INSTANCE_OPERATION_MIGRATE,
  live_migrate: InstanceOperation.INSTANCE_OPERATION_LIVE_MIGRATE,
});

/** To `rpc.conductor`: claims several migrations at once, all or none; a dry run says where they would go. For operators. */
export const moveInstancesMethod: Method<MoveInstancesRequest, MoveInstancesResponse> = {
  request: codec(
    'berth.conductor.v1.MoveInstancesRequest',
    conductor.MoveInstancesRequest,
    ({ operation, moves, leaveHosts, dryRun, plan = '' }) => ({
      plan,
      operation: OPERATIONS.toWire(operation),
      moves: moves as InstanceMove[],
      leaveHosts: leaveHosts as string[],
      dryRun,
    }),
    ({ operation, moves, leaveHosts, dryRun, plan }) => {
      if (moves.length === 0) throw missing('moves');
      return {
        operation: OPERATIONS.fromWire(operation, 'operation'),
        moves: list(moves, 'moves', MAX_MOVES, instanceMoveFromWire),
        leaveHosts: hostNames(leaveHosts, 'leave_hosts'),
        dryRun,
        plan: optionalName(plan, 'plan'),
      };
    },
  ),
  response: codec(
    'berth.conductor.v1.MoveInstancesResponse',
    conductor.MoveInstancesResponse,
    ({ moves, ...rest }) => ({ ...rest, moves: moves as PlannedMove[] }),
    ({ moves, refusedInstanceUuid, refusal }) => ({
      moves: list(moves, 'moves', MAX_MOVES, plannedMoveFromWire),
      refusedInstanceUuid: uuidOrEmpty(refusedInstanceUuid, 'refused_instance_uuid'),
      refusal: text(refusal, 'refusal'),
    }),
  ),
};

/** To `rpc.scheduler`: claims a destination for each of some instances that are moved, in one commit. For conductors. */
export const claimMovesMethod: Method<ClaimMovesRequest, ClaimMovesResponse> = {
  request: codec(
    'berth.scheduler.v1.ClaimMovesRequest',
    scheduler.ClaimMovesRequest,
    ({ moves, dryRun }) => ({
      moves: moves.map((one) => ({ ...one, move: one.move ?? null, requestSpec: specToWire(one.requestSpec) })),
      dryRun,
    }),
    ({ moves, dryRun }) => {
      if (moves.length === 0) throw missing('moves');
      return { moves: list(moves, 'moves', MAX_MOVES, moveToClaimFromWire), dryRun };
    },
  ),
  response: codec(
    'berth.scheduler.v1.ClaimMovesResponse',
    scheduler.ClaimMovesResponse,
    ({ destinations, noValidHost, refusedInstanceUuid }) => ({
      destinations: destinations as Mutable<Destination>[],
      noValidHost: (noValidHost as Mutable<Diagnosis> | undefined) ?? null,
      refusedInstanceUuid,
    }),
    ({ destinations, noValidHost, refusedInstanceUuid }) => ({
      destinations: list(destinations, 'destinations', MAX_MOVES, destinationFromWire),
      noValidHost: noValidHost ? diagnosisFromWire(noValidHost, 'no_valid_host') : undefined,
      refusedInstanceUuid: uuidOrEmpty(refusedInstanceUuid, 'refused_instance_uuid'),
    }),
  ),
};

function instanceMoveFromWire(value: berth.conductor.v1.IInstanceMove, field: string): InstanceMove {
  const { instanceUuid, targetHost } = value as berth.conductor.v1.InstanceMove;
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    targetHost: hostNameOrEmpty(targetHost, `${field}.target_host`),
  };
}

function plannedMoveFromWire(value: berth.conductor.v1.IPlannedMove, field: string): PlannedMove {
  const { instanceUuid, sourceHost, destHost } = value as berth.conductor.v1.PlannedMove;
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    sourceHost: hostName(sourceHost, `${field}.source_host`),
    destHost: hostName(destHost, `${field}.dest_host`),
  };
}

function moveToClaimFromWire(value: berth.scheduler.v1.IMoveToClaim, field: string): MoveToClaim {
  const { instanceUuid, requestSpec, move } = value as berth.scheduler.v1.MoveToClaim;
  if (!requestSpec) throw missing(`${field}.request_spec`);
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    requestSpec: specFromWire(requestSpec, `${field}.request_spec`),
    move: move ? moveFromWire(move, 1) : undefined,
  };
}
