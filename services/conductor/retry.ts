import type { Selection } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { alternatesCodec } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import type { Attempt, Instance } from '#libs/domain/instance';
import type { AllocationRequest } from '#libs/placement/allocation-request';
import { claimWrite } from '#libs/placement/claims';
import type { ConsumerGuard } from '#libs/placement/store';
import type { Conductor } from './context';
import { type ClaimedHost, type HandOff, handOff, order, releaseOwn } from './hand-off';
import { advance, attemptNumber, concluded, failed } from './records';

/** Gives a claimed host the instance to build, or the next one when it would not take the order. */
export async function buildOn(c: Conductor, instance: Instance, claimed: ClaimedHost): Promise<void> {
  await orNextHost(c, await handOff(c, instance, claimed));
}

/** Says the order of a building instance again. */
export async function orderAgain(c: Conductor, instance: Instance): Promise<void> {
  await orNextHost(c, await order(c, instance));
}

async function orNextHost(c: Conductor, handedOff: HandOff): Promise<void> {
  if (handedOff.kind === 'refused') await tryNextHost(c, handedOff.instance, 'refused', handedOff.reason);
}

/**
 * Ends the present attempt and goes on with the next host, without asking a scheduler.
 *
 * The naive way is to move the claim and then write the record. It fails when the host answers after all in between:
 * one conductor writes ACTIVE on the old host while this one takes its claim away. So the record is the fence: the
 * attempt is concluded first, by compare and swap, and whoever loses that looks again. From then on a late answer is
 * outdated, and a crash leaves a record whose deadline brings somebody to `claimNextHost`. It costs one write more, and
 * only when a host fails.
 *
 * @throws BerthError `aborted / record_changed` when somebody else wrote first.
 */
export async function tryNextHost(
  c: Conductor,
  instance: Instance,
  outcome: Attempt['outcome'],
  reason: string,
): Promise<void> {
  const nowMs = c.clock.now();
  const { host } = instance;
  const concludedInstance = await advance(c, instance, {
    attempts: concluded(instance, outcome, reason, nowMs),
    dueAtMs: nowMs + c.config.schedulingTimeoutMs,
  });
  if (!concludedInstance)
    throw new BerthError('aborted', 'record_changed', `instance ${instance.uuid} changed meanwhile`);
  c.measured.attempts.inc({ outcome });
  c.log.warn(
    { instance_uuid: instance.uuid, request_id: instance.requestId, host, outcome, reason },
    'attempt did not succeed',
  );
  if (host !== undefined) {
    await c.placement.commit({ kind: 'record_failure', atMs: nowMs, host, halfLifeMs: c.config.failureHalfLifeMs });
  }
  await claimNextHost(c, concludedInstance);
}

/**
 * Claims the next alternate of an instance whose attempt is concluded, with its allocation request: one commit gives the
 * failed host's claim back and takes the new one. An alternate that filled up meanwhile is noted in the story and the
 * next one is tried. With none left, the instance ends in ERROR and holds nothing.
 */
export async function claimNextHost(c: Conductor, instance: Instance): Promise<void> {
  const nowMs = c.clock.now();
  let story = instance;
  const alternates = instance.alternates.length > 0 ? alternatesCodec.decode(instance.alternates) : [];
  for (const [i, alternate] of alternates.entries()) {
    if (hostsTried(story) >= c.config.maxAttempts) break;
    const claimed = await claimAlternate(c, alternate, instance.claimRevision);
    if (claimed.kind === 'claimed') {
      const requestSpec = requestSpecCodec.decode(instance.requestSpec);
      const { claimRevision } = claimed;
      return buildOn(c, story, {
        host: alternate.host,
        serviceHost: alternate.serviceHost,
        claimRevision,
        requestSpec,
        alternates: alternates.slice(i + 1),
      });
    }
    story = { ...story, attempts: [...story.attempts, notClaimed(story, alternate.host, claimed.reason, nowMs)] };
  }
  await giveUp(c, story);
}

/** Ends an instance in ERROR; its claim goes first, so that an instance at rest never holds one. */
async function giveUp(c: Conductor, instance: Instance): Promise<void> {
  await releaseOwn(c, instance);
  const last = instance.attempts.findLast(({ outcome }) => outcome !== 'not_claimed');
  const message = `${hostsTried(instance)} host(s) were tried and no alternate is left; ${last?.host} said: ${last?.reason}`;
  await advance(c, instance, { ...failed({ reason: 'hosts_exhausted', message }), attempts: instance.attempts });
}

type Claimed =
  | { readonly kind: 'claimed'; readonly claimRevision: number }
  | { readonly kind: 'full'; readonly reason: string };

/**
 * Moves the instance's claim to an alternate. A guard that does not hold means that this step ran before: then the claim
 * is found by its consumer, and it is either on this alternate already or on a later one, or gone.
 */
async function claimAlternate(c: Conductor, alternate: Selection, claimRevision: number | undefined): Promise<Claimed> {
  const request = opened(c, alternate);
  if (request === undefined) return { kind: 'full', reason: 'its allocation request can not be opened' };
  const claim = (expect: ConsumerGuard) =>
    c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), consumers: [claimWrite(request, expect)] });
  let result = await claim(claimRevision === undefined ? { kind: 'absent' } : { kind: 'claim', claimRevision });
  if (result.kind === 'generation') {
    const [holder] = await c.placement.consumers([request.consumerUuid]);
    if (holder) {
      const isHere = Object.keys(request.allocations).every((provider) => provider in holder.allocations);
      return isHere
        ? { kind: 'claimed', claimRevision: holder.claimRevision }
        : { kind: 'full', reason: 'the claim is on another host' };
    }
    result = await claim({ kind: 'absent' });
  }
  switch (result.kind) {
    case 'committed':
      return { kind: 'claimed', claimRevision: result.change.revision };
    case 'capacity':
      return { kind: 'full', reason: `${result.resourceClass}: ${result.refusal}` };
    case 'group':
      return { kind: 'full', reason: `server group ${result.groupId} forbids it` };
    case 'not_found':
      return { kind: 'full', reason: `${result.subject} ${result.key} is gone` };
    case 'unchanged':
    case 'generation':
    case 'exists':
    case 'in_use':
    case 'stale':
      return { kind: 'full', reason: result.kind };
  }
}

/** Undefined when it was sealed under another key: then this host is no alternate, and the story says so. */
function opened(c: Conductor, { allocationRequest, host }: Selection): AllocationRequest | undefined {
  try {
    return c.open(allocationRequest);
  } catch (thrown) {
    c.log.error({ err: thrown, host }, 'an alternate can not be claimed');
    return undefined;
  }
}

function hostsTried(instance: Instance): number {
  return instance.attempts.filter(({ outcome }) => outcome !== 'not_claimed').length;
}

function notClaimed(instance: Instance, host: string, reason: string, nowMs: number): Attempt {
  const number = attemptNumber(instance) + 1;
  return { host, number, outcome: 'not_claimed', reason, startedAtMs: nowMs, endedAtMs: nowMs };
}
