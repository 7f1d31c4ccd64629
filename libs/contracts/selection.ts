import { berth } from '#generated/berth';
import { MAX_ZONES } from '../domain/cells/cell-summary';
import { invalidArgument } from '../domain/errors';
import { alternatesHeld, preemption, priority, timeLimit } from './admission';
import { hostName, hostNameOrEmpty, missing, name, orHost, requiredName, text, uuid, uuidsUpTo, whole } from './checks';
import type { Method } from './codec';
import { diagnosis } from './diagnosis';
import { ruled, rulesOf } from './field-rules';
import { bytes, count, encodedSpec, flag, list, omittable, optional, orUndefined } from './fields';
import { MAX_ALLOCATION_REQUEST_BYTES, MAX_ALTERNATES, MAX_INSTANCES_PER_REQUEST } from './limits';
import { checkDistinctKinds, furtherKinds } from './member-kinds';
import { mapped, message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofAgents, ofServices } from './message-rules';

const wire = berth.scheduler.v1;

/** A sealed allocation request (`libs/placement/sealed`), or nothing. */
export const sealedRequest = bytes(MAX_ALLOCATION_REQUEST_BYTES);

const selection = message(wire.Selection, {
  host: hostName,
  cell: name,
  allocationRequest: sealedRequest,
  serviceHost: orHost,
  epoch: whole,
  requiredAllocationRequest: optional(sealedRequest),
});
export type Selection = PlainOf<typeof selection>;

export const selections = list(selection, MAX_ALTERNATES);

/** The alternates that are left to an instance: how its record keeps them. */
export const alternatesCodec = mapped(
  message(wire.SelectionList, { values: selections }),
  ({ values }) => values,
  (values: readonly Selection[]) => ({ values }),
);

export const destination = message(wire.Destination, {
  instanceUuid: uuid,
  selected: selection,
  alternates: selections,
  claimToken: whole,
  /** By the top, of a group that spreads over zones: the zone that it counts in. */
  zone: optional(name),
});
export type Destination = PlainOf<typeof destination>;

/** The passing of an instance's claim to a migration. */
export const move = message(wire.Move, { migrationUuid: uuid, claimToken: whole, sourceHost: hostNameOrEmpty });
export type Move = PlainOf<typeof move>;

const uuidsOfRequest = uuidsUpTo(MAX_INSTANCES_PER_REQUEST);

/** Instance uuids of one request: at least one, no two the same. */
export const distinctUuids = ruled(
  { required: true, ...rulesOf(uuidsOfRequest) },
  (values: readonly string[], path: string): readonly string[] => {
    if (values.length === 0) throw missing(path);
    const checked = uuidsOfRequest(values, path);
    if (checked.length > 1 && new Set(checked).size < checked.length) {
      throw invalidArgument('duplicate_uuid', `${path} names the same uuid twice`, path);
    }
    return checked;
  },
);

const alternateCount = ruled({ lte: MAX_ALTERNATES }, (value: number, path: string): number => {
  if (value <= MAX_ALTERNATES) return value;
  throw invalidArgument('too_many', `${path} may be at most ${MAX_ALTERNATES}`, path);
});

const selectDestinationsRequest = message(
  wire.SelectDestinationsRequest,
  {
    requestId: uuid,
    requestSpec: encodedSpec(2),
    instanceUuids: distinctUuids,
    numAlternates: alternateCount,
    /** 0 for all or none. */
    minCount: omittable(count),
    priority: omittable(priority),
    isProtected: omittable(flag),
    mayPreempt: omittable(flag),
    minRevision: omittable(whole),
    move: optional(move),
    alternatesHeld: optional(alternatesHeld),
    /** To the top: in this cell only. */
    cell: optional(name),
    /** With `cell`, of a group that spreads over zones: the top chooses the zone anew, of those that the cell has. */
    choosesZone: optional(flag),
    /** Each selected host is asked before this is answered. */
    confirmsHost: optional(flag),
    /** Further kinds of a gang, decided with the first and claimed in the same commit. */
    furtherKinds,
    /** To the top: never divided among cells. */
    inOneCell: optional(flag),
    timeLimitMs: optional(timeLimit),
  },
  {
    rule: ofServices(MANY),
    check(request) {
      if (request.furtherKinds) checkDistinctKinds(request.instanceUuids, request.furtherKinds);
      if (!request.move || request.instanceUuids.length === 1) return;
      throw invalidArgument('too_many', 'one instance is moved at a time', 'instance_uuids');
    },
  },
);
export type SelectDestinationsRequest = PlainOf<typeof selectDestinationsRequest>;

/** A destination for each instance, or fewer or none and why. */
const selectDestinationsResponse = message(wire.SelectDestinationsResponse, {
  destinations: list(destination, MAX_INSTANCES_PER_REQUEST),
  noValidHost: orUndefined(diagnosis),
  /** Instances whose place the request could take, where there was no host. */
  preemption: optional(preemption),
  /** By the top: the cell that was chosen, or of those that may get room for it the best. */
  cell: optional(name),
  /** By the top, of a group that spreads over zones: those that its members may go to. */
  zones: optional(list(requiredName, MAX_ZONES)),
});
export type SelectDestinationsResponse = PlainOf<typeof selectDestinationsResponse>;

/** To `stats`: an agent's answer to `AskHost`; `reason` is '' when there is room. */
export const answerHostMethod = {
  request: message(
    wire.AnswerHostRequest,
    { askId: uuid, host: hostName, epoch: whole, reason: name, message: text },
    { rule: ofAgents(16 * KIB, FEW) },
  ),
  response: message(wire.AnswerHostResponse, { isAwaited: flag }),
};
export type AnswerHostRequest = PlainOf<typeof answerHostMethod.request>;

/** To `rpc.scheduler`: claims a host for each instance, all or none, or as many as are enough. */
export const selectDestinationsMethod: Method<SelectDestinationsRequest, SelectDestinationsResponse> = {
  request: selectDestinationsRequest,
  response: selectDestinationsResponse,
};
