import { berth } from '#generated/berth';
import { invalidArgument } from '../domain/errors';
import type { OnLoss } from '../domain/instance';
import { admission } from './admission';
import { chosenUuid, name, projectId, tooMany, uuid, uuidsUpTo, whole } from './checks';
import { errorCodec } from './error';
import { ruled, rulesOf } from './field-rules';
import { count, encodedSpec, list, omittable, optional } from './fields';
import { MAX_INSTANCES_PER_REQUEST, MAX_NAME_BYTES, MAX_SPEC_BYTES_PER_REQUEST } from './limits';
import {
  type AskedKinds,
  checkCountOfAll,
  countOfAll,
  furtherMembers,
  instanceCount,
  type Kind,
  kindsOf,
  onLoss,
} from './member-kinds';
import { message, type PlainOf } from './message';
import { FEW, KIB, ofServices, ofTenants } from './message-rules';
import { cutField } from './opaque-field';
import { destination, distinctUuids } from './selection';

const wire = berth.conductor.v1;
/** Number of `BuildRequest.request_id`. */
const REQUEST_ID_FIELD = 1;
const NO_BYTES = new Uint8Array();

const chosenUuids = ruled(
  { maxItems: MAX_INSTANCES_PER_REQUEST, items: rulesOf(chosenUuid) ?? {} },
  (values: readonly string[], path: string): readonly string[] => {
    if (values.length === 0) return [];
    return distinctUuids(values, path).map((value, n) => chosenUuid(value, `${path}[${n}]`));
  },
);

/** To `build.requests`: build so many instances of this. A thousand destinations, from the top alone. */
export const buildRequestCodec = message(
  wire.BuildRequest,
  {
    requestId: uuid,
    requestSpec: encodedSpec(2),
    count: instanceCount,
    name,
    instanceUuids: chosenUuids,
    /** 0 by a client that does not say it. */
    publishedAtMs: omittable(whole),
    /** 0 where the instances are no gang. */
    minCount: omittable(count),
    admission: optional(admission),
    /** From the top alone. */
    destinations: optional(list(destination, MAX_INSTANCES_PER_REQUEST)),
    /** Kinds of members with specs of their own; with them all are one gang. */
    furtherMembers,
    onLoss,
  },
  { rule: ofTenants(512 * KIB, 100_000), check: checkCounts },
);
export type BuildRequest = PlainOf<typeof buildRequestCodec>;

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
export const buildAcceptedCodec = message(wire.BuildAccepted, {
  requestId: uuid,
  instanceUuids: uuidsUpTo(MAX_INSTANCES_PER_REQUEST),
});
export type BuildAccepted = PlainOf<typeof buildAcceptedCodec>;

/** To the request's `reply_to` or as an event: it is refused, nothing was stored. The id may be '' or no uuid at all. */
export const buildRefusedCodec = message(
  wire.BuildRefused,
  { requestId: name, error: errorCodec },
  { rule: ofServices(FEW) },
);
export type BuildRefused = PlainOf<typeof buildRefusedCodec>;

/** To `build.requests`: end an instance, whatever its state. */
export const terminateInstanceCodec = message(
  wire.TerminateInstance,
  { instanceUuid: uuid, projectId },
  { rule: ofTenants(4 * KIB, FEW) },
);
export type TerminateInstance = PlainOf<typeof terminateInstanceCodec>;

/** Counts of a build request. */
interface Wanted extends AskedKinds {
  readonly instanceUuids: readonly string[];
  readonly destinations?: readonly unknown[] | undefined;
  readonly onLoss?: OnLoss | undefined;
}

function checkCounts(request: Wanted): void {
  const { instanceUuids, destinations = [] } = request;
  const wanted = countOfAll(request);
  checkCountOfAll(wanted);
  const kinds = kindsOf(request);
  for (const [n, kind] of kinds.entries()) checkKind(kind, n === 0 ? '' : `further_members[${n - 1}].`);
  if (request.onLoss !== undefined && kinds.every(({ minCount }) => minCount === 0)) {
    const problem = 'on_loss is for a gang: say min_count, or further members';
    throw invalidArgument('on_loss_without_gang', problem, 'on_loss');
  }
  checkSpecBytes(kinds.reduce((sum, kind) => sum + kind.requestSpec.length * kind.count, 0) / wanted, wanted);
  if (instanceUuids.length !== 0 && instanceUuids.length !== wanted) {
    const problem = `instance_uuids must have as many entries as count (${wanted}) or none, not ${instanceUuids.length}`;
    throw invalidArgument('count_mismatch', problem, 'instance_uuids');
  }
  if (destinations.length > wanted) throw tooMany('destinations', wanted);
}

function checkKind({ count: wanted, minCount }: Pick<Kind, 'count' | 'minCount'>, path: string): void {
  if (minCount <= wanted) return;
  const problem = `${path}min_count may be at most count: ${minCount} of ${wanted} can not become ACTIVE`;
  throw invalidArgument('min_count_above_count', problem, `${path}min_count`);
}

function checkSpecBytes(bytes: number, wanted: number): void {
  if (bytes * wanted <= MAX_SPEC_BYTES_PER_REQUEST) return;
  const most = Math.floor(MAX_SPEC_BYTES_PER_REQUEST / bytes);
  const problem =
    `request_spec has ${Math.ceil(bytes)} bytes, for each of ${wanted} instances; in all there may be ` +
    `${MAX_SPEC_BYTES_PER_REQUEST}: ask for at most ${most} instances at once, or say less of them`;
  throw invalidArgument('too_long', problem, 'request_spec');
}
