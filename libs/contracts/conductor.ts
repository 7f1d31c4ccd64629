import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import { admissionFromWire, admissionToWire } from './admission';
import { chosenUuid, list, missing, name, projectId, uuid, uuids, whole } from './checks';
import { type Codec, codec, type Mutable } from './codec';
import { errorFromWire, errorToWire } from './error';
import { MAX_INSTANCES_PER_REQUEST, MAX_NAME_BYTES, MAX_SPEC_BYTES_PER_REQUEST } from './limits';
import type { BuildAccepted, BuildRefused, BuildRequest, Destination, TerminateInstance } from './messages';
import { cutField } from './opaque-field';
import { codecAroundSpec } from './request-spec';
import { destinationFromWire, distinctUuids } from './selection';

const wire = berth.conductor.v1;
/** Of `BuildRequest.request_spec`. */
const SPEC_FIELD = 2;
/** Of `BuildRequest.request_id`. */
const REQUEST_ID_FIELD = 1;
const NO_BYTES = new Uint8Array();

/** To `build.requests`: build so many instances of this. */
export const buildRequestCodec: Codec<BuildRequest> = codecAroundSpec(
  'berth.conductor.v1.BuildRequest',
  wire.BuildRequest,
  SPEC_FIELD,
  ({ requestId, count, name: base, instanceUuids, publishedAtMs = 0, minCount = 0, admission, destinations = [] }) => ({
    requestId,
    count,
    name: base,
    instanceUuids: instanceUuids as string[],
    publishedAtMs,
    minCount,
    admission: admissionToWire(admission),
    destinations: destinations as Mutable<Destination>[],
  }),
  (request, requestSpec) => {
    const count = request.count || 1;
    if (count > MAX_INSTANCES_PER_REQUEST) {
      throw invalidArgument('too_many', `count may be at most ${MAX_INSTANCES_PER_REQUEST}`, 'count');
    }
    checkSpecBytes(requestSpec.length, count);
    const { minCount } = request;
    if (minCount > count) {
      const message = `min_count may be at most count: ${minCount} of ${count} can not become ACTIVE`;
      throw invalidArgument('min_count_above_count', message, 'min_count');
    }
    return {
      requestId: uuid(request.requestId, 'request_id'),
      requestSpec,
      count,
      name: name(request.name, 'name'),
      instanceUuids: chosenUuids(request.instanceUuids, count),
      publishedAtMs: whole(request.publishedAtMs, 'published_at_ms'),
      minCount,
      admission: admissionFromWire(request.admission, 'admission'),
      ...(request.destinations.length > 0 ? { destinations: selectedFor(request.destinations, count) } : {}),
    };
  },
);

/**
 * The id in a build request that is refused, so that its sender can tell whose refusal it is; '' when there is none to
 * be read. Not checked: it is only said back.
 */
export function requestIdOf(body: Uint8Array): string {
  try {
    const field = cutField(body, REQUEST_ID_FIELD).field ?? NO_BYTES;
    return field.length > MAX_NAME_BYTES ? '' : Buffer.from(field).toString();
  } catch {
    return '';
  }
}

/** To the request's `reply_to`: it is stored and will come to an end. */
export const buildAcceptedCodec: Codec<BuildAccepted> = codec(
  'berth.conductor.v1.BuildAccepted',
  wire.BuildAccepted,
  (accepted) => accepted as Mutable<BuildAccepted>,
  (accepted) => ({
    requestId: uuid(accepted.requestId, 'request_id'),
    instanceUuids: uuids(accepted.instanceUuids, 'instance_uuids', MAX_INSTANCES_PER_REQUEST),
  }),
);

/** To the request's `reply_to` or as an event: it is refused, nothing was stored. The id may be '' or no uuid at all. */
export const buildRefusedCodec: Codec<BuildRefused> = codec(
  'berth.conductor.v1.BuildRefused',
  wire.BuildRefused,
  (refused) => ({ requestId: refused.requestId, error: errorToWire(refused.error) }),
  (refused) => {
    if (!refused.error) throw missing('error');
    return { requestId: name(refused.requestId, 'request_id'), error: errorFromWire(refused.error) };
  },
);

/** To `build.requests`: end an instance, whatever its state. */
export const terminateInstanceCodec: Codec<TerminateInstance> = codec(
  'berth.conductor.v1.TerminateInstance',
  wire.TerminateInstance,
  (terminate) => terminate,
  (terminate) => ({
    instanceUuid: uuid(terminate.instanceUuid, 'instance_uuid'),
    projectId: projectId(terminate.projectId, 'project_id'),
  }),
);

function checkSpecBytes(bytes: number, count: number): void {
  if (bytes * count <= MAX_SPEC_BYTES_PER_REQUEST) return;
  const most = Math.floor(MAX_SPEC_BYTES_PER_REQUEST / bytes);
  const message =
    `request_spec has ${bytes} bytes, for each of ${count} instances; in all there may be ` +
    `${MAX_SPEC_BYTES_PER_REQUEST}: ask for at most ${most} instances at once, or say less of them`;
  throw invalidArgument('too_long', message, 'request_spec');
}

function selectedFor(values: readonly berth.scheduler.v1.IDestination[], count: number): readonly Destination[] {
  return list(values, 'destinations', count, destinationFromWire);
}

function chosenUuids(values: readonly string[], count: number): readonly string[] {
  if (values.length === 0) return [];
  if (values.length === count) {
    return distinctUuids(values, 'instance_uuids').map((value, n) => chosenUuid(value, `instance_uuids[${n}]`));
  }
  const message = `instance_uuids must have as many entries as count (${count}) or none, not ${values.length}`;
  throw invalidArgument('count_mismatch', message, 'instance_uuids');
}
