import { berth } from '#generated/berth';
import { MAX_ZONES } from '../domain/cells/cell-summary';
import { invalidArgument } from '../domain/errors';
import {
  alternatesHeldFromWire,
  alternatesHeldToWire,
  preemptionFromWire,
  preemptionToWire,
  priorityFromWire,
} from './admission';
import {
  hostName,
  hostNameOrEmpty,
  list,
  missing,
  name,
  requiredName,
  serviceHostName,
  uuid,
  uuids,
  whole,
} from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { diagnosisFromWire } from './diagnosis';
import { MAX_ALLOCATION_REQUEST_BYTES, MAX_ALTERNATES, MAX_INSTANCES_PER_REQUEST } from './limits';
import type {
  Destination,
  Diagnosis,
  Move,
  SelectDestinationsRequest,
  SelectDestinationsResponse,
  Selection,
} from './messages';
import { codecAroundSpec } from './request-spec';

const wire = berth.scheduler.v1;

/** To `rpc.scheduler`: claims a host for each instance, all or none, or as many as are enough. */
export const selectDestinationsMethod: Method<SelectDestinationsRequest, SelectDestinationsResponse> = {
  request: codecAroundSpec(
    'berth.scheduler.v1.SelectDestinationsRequest',
    wire.SelectDestinationsRequest,
    2,
    ({
      requestId,
      instanceUuids,
      numAlternates,
      minCount = 0,
      priority = 0,
      isProtected = false,
      mayPreempt = false,
      minRevision = 0,
      move,
      alternatesHeld,
      cell = '',
      choosesZone = false,
    }) => ({
      requestId,
      instanceUuids: instanceUuids as string[],
      numAlternates,
      minCount,
      priority,
      isProtected,
      mayPreempt,
      minRevision,
      move: move ?? null,
      alternatesHeld: alternatesHeldToWire(alternatesHeld),
      cell,
      choosesZone,
    }),
    (request, requestSpec) => ({
      requestId: uuid(request.requestId, 'request_id'),
      requestSpec,
      instanceUuids: distinctUuids(request.instanceUuids, 'instance_uuids'),
      numAlternates: alternateCount(request.numAlternates, 'num_alternates'),
      minCount: request.minCount,
      priority: priorityFromWire(request.priority, 'priority'),
      isProtected: request.isProtected,
      mayPreempt: request.mayPreempt,
      minRevision: whole(request.minRevision, 'min_revision'),
      alternatesHeld: alternatesHeldFromWire(request.alternatesHeld, 'alternates_held'),
      ...(request.cell === '' ? {} : { cell: name(request.cell, 'cell') }),
      ...(request.choosesZone ? { choosesZone: true } : {}),
      ...(request.move ? { move: moveFromWire(request.move, request.instanceUuids.length) } : {}),
    }),
  ),
  response: codec(
    'berth.scheduler.v1.SelectDestinationsResponse',
    wire.SelectDestinationsResponse,
    (response) => ({
      destinations: response.destinations as Mutable<Destination>[],
      noValidHost: response.noValidHost as Mutable<Diagnosis> | null,
      preemption: preemptionToWire(response.preemption),
      cell: response.cell ?? '',
      zones: (response.zones ?? []) as string[],
    }),
    (response) => ({
      destinations: list(response.destinations, 'destinations', MAX_INSTANCES_PER_REQUEST, destinationFromWire),
      noValidHost: response.noValidHost ? diagnosisFromWire(response.noValidHost, 'no_valid_host') : undefined,
      preemption: preemptionFromWire(response.preemption, 'preemption'),
      ...(response.cell === '' ? {} : { cell: name(response.cell, 'cell') }),
      ...(response.zones.length === 0 ? {} : { zones: list(response.zones, 'zones', MAX_ZONES, requiredName) }),
    }),
  ),
};

/** The alternates that are left to an instance: how its record keeps them. */
export const alternatesCodec: Codec<readonly Selection[]> = codec(
  'berth.scheduler.v1.SelectionList',
  wire.SelectionList,
  (values) => ({ values: values as Selection[] }),
  (selections) => selectionsFromWire(selections.values, 'alternates'),
);

export function selectionsFromWire(values: readonly berth.scheduler.v1.ISelection[], field: string): Selection[] {
  return list(values, field, MAX_ALTERNATES, selectionFromWire);
}

/** Instance uuids of one request: at least one, no two the same. */
export function distinctUuids(values: readonly string[], field: string): readonly string[] {
  if (values.length === 0) throw missing(field);
  const checked = uuids(values, field, MAX_INSTANCES_PER_REQUEST);
  if (checked.length > 1 && new Set(checked).size < checked.length) {
    throw invalidArgument('duplicate_uuid', `${field} names the same uuid twice`, field);
  }
  return checked;
}

export function destinationFromWire(value: berth.scheduler.v1.IDestination, field: string): Destination {
  const { instanceUuid, selected, alternates, claimToken, zone } = value as berth.scheduler.v1.Destination;
  if (!selected) throw missing(`${field}.selected`);
  return {
    instanceUuid: uuid(instanceUuid, `${field}.instance_uuid`),
    selected: selectionFromWire(selected, `${field}.selected`),
    alternates: selectionsFromWire(alternates, `${field}.alternates`),
    claimToken: whole(claimToken, `${field}.claim_token`),
    ...(zone === '' ? {} : { zone: name(zone, `${field}.zone`) }),
  };
}

function selectionFromWire(value: berth.scheduler.v1.ISelection, field: string): Selection {
  const selection = value as berth.scheduler.v1.Selection;
  const { host, cell, allocationRequest, serviceHost, epoch, requiredAllocationRequest: required } = selection;
  const plain = {
    host: hostName(host, `${field}.host`),
    cell: name(cell, `${field}.cell`),
    allocationRequest: sealedRequest(allocationRequest, `${field}.allocation_request`),
    serviceHost: serviceHostName(serviceHost, host, `${field}.service_host`),
    epoch: whole(epoch, `${field}.epoch`),
  };
  if (required.length === 0) return plain;
  return { ...plain, requiredAllocationRequest: sealedRequest(required, `${field}.required_allocation_request`) };
}

/** A sealed allocation request, or nothing. */
export function sealedRequest(value: Uint8Array, field: string): Uint8Array {
  if (value.length <= MAX_ALLOCATION_REQUEST_BYTES) return value;
  const message = `${field} may have at most ${MAX_ALLOCATION_REQUEST_BYTES} bytes`;
  throw invalidArgument('too_long', message, field);
}

export function moveFromWire(value: berth.scheduler.v1.IMove, instanceCount: number): Move {
  const { migrationUuid, claimToken, sourceHost } = value as berth.scheduler.v1.Move;
  if (instanceCount > 1) throw invalidArgument('too_many', 'one instance is moved at a time', 'instance_uuids');
  return {
    migrationUuid: uuid(migrationUuid, 'move.migration_uuid'),
    claimToken: whole(claimToken, 'move.claim_token'),
    sourceHost: hostNameOrEmpty(sourceHost, 'move.source_host'),
  };
}

function alternateCount(value: number, field: string): number {
  if (value <= MAX_ALTERNATES) return value;
  throw invalidArgument('too_many', `${field} may be at most ${MAX_ALTERNATES}`, field);
}
