import { buildInstanceCodec } from '#libs/contracts/compute';
import type { Selection } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { castTyped } from '#libs/contracts/rpc';
import { alternatesCodec } from '#libs/contracts/selection';
import { agentQueue } from '#libs/contracts/topology';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Conductor } from './context';
import { announce, attemptNumber, present, write } from './records';

/** What an order says besides the record, which keeps it encoded, and where it goes. */
interface Order {
  readonly requestSpec: RequestSpec;
  /** What is left to try after the host. */
  readonly alternates: readonly Selection[];
  /** The process that takes the host's builds with those of others; '' for the host's own queue. */
  readonly serviceHost: string;
}

/** A host claimed for an instance, and what it is to be ordered. */
export interface ClaimedHost extends Order {
  readonly host: string;
  readonly claimRevision: number;
}

/** How a hand-off went: the host has the order, would not take it, or the instance is somebody else's by now. */
export type HandOff =
  | { readonly kind: 'ordered' }
  | { readonly kind: 'superseded' }
  | { readonly kind: 'refused'; readonly instance: Instance; readonly reason: string };

/**
 * Gives a claimed host the instance to build: the record first, then the message, so that a crash between the two is
 * found by the record's deadline. When the record moved on meanwhile (a terminate, another conductor), the claim that
 * was made for it is given back, unless the record names this very claim.
 *
 * The event and the order go out together. The naive way is to wait for the event's confirm first, so that nobody can
 * write the next version while this one is untold; it costs every build a round trip to the broker. But it is the host's
 * answer to the order that brings the next version about, and the broker takes what one process sends in turn: who has
 * the order comes after the event. When either fails, both are sent again.
 */
export async function handOff(c: Conductor, instance: Instance, claimed: ClaimedHost): Promise<HandOff> {
  const nowMs = c.clock.now();
  const building = await write(c, instance, {
    state: 'building',
    host: claimed.host,
    claimRevision: claimed.claimRevision,
    attempts: [
      ...instance.attempts,
      {
        host: claimed.host,
        number: attemptNumber(instance) + 1,
        outcome: 'building',
        reason: '',
        startedAtMs: nowMs,
        endedAtMs: undefined,
      },
    ],
    alternates: alternatesCodec.encode(claimed.alternates),
    dueAtMs: nowMs + c.config.buildTimeoutMs,
  });
  if (building) {
    const [, ordered] = await Promise.all([announce(c, building), order(c, building, claimed)]);
    return ordered;
  }
  const now = await present(c, instance.uuid);
  if (now?.claimRevision !== claimed.claimRevision) await release(c, instance.uuid, claimed.claimRevision);
  return { kind: 'superseded' };
}

/**
 * Tells the host of a building instance to build it. Harmless when repeated: agents know the attempt. A broker that dies
 * may lose it; then the host reports without the instance, and it is ordered again (`discrepancy`).
 */
export async function order(c: Conductor, instance: Instance, said: Order = recorded(instance)): Promise<HandOff> {
  const { uuid, requestId, name, projectId, userId, host, claimRevision } = instance;
  if (host === undefined || claimRevision === undefined) return { kind: 'superseded' };
  const build = {
    instanceUuid: uuid,
    requestId,
    name,
    projectId,
    userId,
    requestSpec: said.requestSpec,
    host,
    attempt: attemptNumber(instance),
    claimRevision,
    alternates: said.alternates,
    deadlineAtMs: instance.dueAtMs ?? c.clock.now() + c.config.buildTimeoutMs,
  };
  try {
    const options = { id: `${uuid}.${build.attempt}`, isTransient: true, isPackable: true };
    await castTyped(c.bus, agentQueue(said.serviceHost || host).name, buildInstanceCodec, build, options);
    return { kind: 'ordered' };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    // A host without a queue, or with a full one, is as good as one that refuses.
    if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
    return { kind: 'refused', instance, reason: `${error.reason}: ${error.message}` };
  }
}

/** The order of an instance, said again: to the host's own queue, which is right whoever carries the host by now. */
function recorded({ requestSpec, alternates }: Instance): Order {
  return {
    requestSpec: requestSpecCodec.decode(requestSpec),
    alternates: alternatesCodec.decode(alternates),
    serviceHost: '',
  };
}

/** Gives a claim back, if it is still the one. */
export async function release(c: Conductor, consumerUuid: string, claimRevision: number): Promise<void> {
  await c.placement.commit({ kind: 'release_claim', atMs: c.clock.now(), consumerUuid, claimRevision });
}

/**
 * Gives back whatever instances hold whose record is deleting or at its end: nobody can hold a claim for them rightfully.
 * For any other, show the token that its record names (`release`): what it holds now may be a newer claim.
 */
export async function releaseAllHeld(c: Conductor, ended: readonly Instance[]): Promise<void> {
  if (ended.length === 0) return;
  const holders = await c.placement.consumers(ended.map(({ uuid }) => uuid));
  await Promise.all(holders.map(({ uuid, claimRevision }) => release(c, uuid, claimRevision)));
}

/** Gives back the claim that the record names, if it names one and it is still the one. */
export async function releaseOwn(c: Conductor, { uuid, claimRevision }: Instance): Promise<void> {
  if (claimRevision !== undefined) await release(c, uuid, claimRevision);
}
