import type { IncomingMessage } from '#libs/bus/port';
import type { SelectDestinationsRequest, SelectDestinationsResponse, Selection } from '#libs/contracts/messages';
import type { Clock } from '#libs/domain/clock';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { seededRandom, seedOf } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Sealer } from '#libs/placement/allocation-request';
import type { PlacementStore } from '#libs/placement/store';
import type { Fleet } from '../fleet/fleet';
import type { Rankings } from '../ranking/rankings';
import type { SelectSettings } from '../settings';
import { type ClaimMirror, claimAll } from './claim';
import { type Decision, decide, type Placement } from './decide';
import type { Place } from './picker';

/** What selecting takes. */
export interface SelectDeps {
  readonly placement: PlacementStore;
  readonly mirror: ClaimMirror;
  readonly fleet: Fleet;
  readonly rankings: Rankings;
  readonly settings: SelectSettings;
  readonly clock: Clock;
  readonly sealer: Sealer;
}

/** Who waits for the answer, and whether still. */
export type Caller = Pick<IncomingMessage, 'isAborted' | 'signal'>;

/** The answer, and how often it had to be decided again. */
export interface Selected {
  readonly response: SelectDestinationsResponse;
  readonly conflicts: number;
}

/**
 * Claims a host for each instance of a request, all or none, and names alternates.
 *
 * A decision is one synchronous piece, made on the mirror, maybe stale; the commit checks it. Somebody was faster: the
 * mirror learns it and all is decided again. Claims on their way count as made, so that many requests at once spread.
 * But such a claim may fail and leave room, so what is refused while there are some is decided again when they are
 * answered, once.
 *
 * @throws BerthError `aborted / claim_conflicts` after too many conflicts; `deadline_exceeded / caller_left`;
 *   `unavailable`; `invalid_argument / too_many`; `failed_precondition / foreign_consumer`.
 */
export async function selectDestinations(
  request: SelectDestinationsRequest,
  caller: Caller,
  deps: SelectDeps,
): Promise<Selected> {
  const { fleet, settings, clock } = deps;
  if (request.instanceUuids.length > settings.maxInstances) throw tooMany(settings.maxInstances);
  const random = seededRandom(seedOf(request.requestId));
  let mayWait = true;
  for (let conflicts = 0; conflicts < settings.claimAttempts; ) {
    if (caller.isAborted) throw new BerthError('deadline_exceeded', 'caller_left', 'the caller no longer waits');
    fleet.refresh(clock.now());
    const decision = decide(request, random, deps);
    if (decision.kind === 'decided') {
      const claimed = await claimDecided(decision, request.requestSpec, caller, deps);
      if (claimed) return { response: { destinations: claimed, noValidHost: undefined }, conflicts };
      conflicts += 1;
    } else if (mayWait && fleet.pending.count > 0) {
      mayWait = false;
      await fleet.pending.whenAnswered();
    } else {
      const noValidHost = { ...decision.diagnosis, claimConflicts: conflicts };
      return { response: { destinations: [], noValidHost }, conflicts };
    }
  }
  throw new BerthError('aborted', 'claim_conflicts', 'others took the hosts first each time; ask again');
}

/** The destinations once all are claimed; undefined after a conflict. */
async function claimDecided(
  { placements, toClaim, pending }: Extract<Decision, { kind: 'decided' }>,
  spec: RequestSpec,
  caller: Caller,
  deps: SelectDeps,
): Promise<SelectDestinationsResponse['destinations'] | undefined> {
  const { fleet } = deps;
  try {
    const claimed = toClaim.length > 0 ? await claimAll(toClaim, spec, caller, deps) : NOTHING_TO_CLAIM;
    return claimed.kind === 'conflict' ? undefined : placements.map((one) => destination(one, claimed.claimRevision));
  } finally {
    fleet.settle(pending);
  }

  function destination({ instanceUuid, selected, alternates, claimRevision }: Placement, newRevision: number) {
    const { projectId, userId, group } = spec;
    const seal = deps.sealer({ consumerUuid: instanceUuid, projectId, userId, group });
    const selection = ({ host: { host }, candidate: { allocations, mappings } }: Place): Selection => ({
      host: host.name,
      cell: host.cell,
      allocationRequest: seal({ host: host.name, allocations, mappings }),
      serviceHost: host.serviceHost,
    });
    return {
      instanceUuid,
      selected: selection(selected),
      alternates: alternates.map(selection),
      claimRevision: claimRevision ?? newRevision,
    };
  }
}

/** All instances hold claims already. */
const NOTHING_TO_CLAIM = { kind: 'claimed', claimRevision: 0 } as const;

function tooMany(most: number): BerthError {
  return invalidArgument('too_many', `instance_uuids may have at most ${most} entries here`, 'instance_uuids');
}
