import { isDeepStrictEqual } from 'node:util';
import type { Selection } from '#libs/contracts/selection';
import { alternatesCodec } from '#libs/contracts/selection';
import { isClaimOf } from '#libs/domain/consumer';
import { type Attempt, attemptNumber, type Instance, presentBuild } from '#libs/domain/instance';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { ConsumerGuard } from '#libs/placement/port/placement-store';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import { referencedId } from '#libs/placement/sealed/reference';
import { reservationOf, withoutClaimed } from '../alternates/held-alternates';
import { hostsExhausted } from '../alternates/hosts-exhausted';
import type { ConductorContext } from '../context';
import type { Observation } from '../observation';
import { openRequest } from './claims';

/**
 * Claims the next alternate of an instance whose attempt is concluded, with its allocation request: one commit releases
 * the failed host's claim and takes the new one. An alternate that filled up meanwhile, or that an operator has taken out of
 * service, is passed over, and noted. When none is left because allocation requests have expired, or of what is evacuated, destinations are
 * to be selected again.
 *
 * The naive way is to move the claim and then write the record. It fails when the host answers after all in between: one
 * conductor writes ACTIVE on the old host while this one takes its claim away. So the attempt is concluded in the record
 * first, by compare and swap; from then on an answer of the old host is late. A crash leaves a record whose deadline
 * brings somebody here again. It costs one write more, and only when a host fails.
 */
export async function claimNextHost(c: ConductorContext, record: Instance): Promise<Observation> {
  const nowMs = c.clock.now();
  const alternates = record.alternates.length > 0 ? alternatesCodec.decode(record.alternates) : [];
  const passedOver: Attempt[] = [];
  let hasExpired = false;
  const tried = triedBy(record);
  const mayTry = tried.length < c.config.maxAttempts;
  const disabled = await disabledAmong(c, mayTry ? alternates : []);
  for (const [i, alternate] of (mayTry ? alternates : []).entries()) {
    const result = disabled.has(alternate.host) ? DISABLED : await claimAlternate(c, alternate, record);
    if (result.kind === 'claimed') {
      const { host, serviceHost, epoch } = alternate;
      const { claimToken, allocationRequest } = result;
      const place = { host, serviceHost, allocationRequest, epoch, claimToken };
      return { kind: 'claimed', target: { ...place, alternates: alternates.slice(i + 1), passedOver } };
    }
    const number = attemptNumber(record) + passedOver.length + 1;
    const { reason } = result;
    hasExpired ||= result.hasExpired ?? false;
    const { host } = alternate;
    passedOver.push({ host, number, outcome: 'not_claimed', reason, startedAtMs: nowMs, endedAtMs: nowMs });
  }
  // An instance that ran before is not ended for want of alternates.
  if (hasExpired || (mayTry && presentBuild(record).follows === 'evacuated')) return { kind: 'alternates_expired' };
  return { kind: 'no_host', fault: hostsExhausted(tried), passedOver };
}

/** The attempts of the present build, not those of an earlier one, whose host died or gave it up since. */
export function triedBy(record: Instance): readonly Attempt[] {
  return presentBuild(record).attempts.filter(({ outcome }) => outcome !== 'not_claimed');
}

type AlternateClaim =
  | { readonly kind: 'claimed'; readonly claimToken: number; readonly allocationRequest: Uint8Array }
  /** `hasExpired`: nobody can claim with it any more, though the host may have room. */
  | { readonly kind: 'not_claimed'; readonly reason: string; readonly hasExpired?: boolean };

/** The hosts among alternates that get no new instances: they were selected before. */
async function disabledAmong(c: ConductorContext, alternates: readonly Selection[]): Promise<ReadonlySet<string>> {
  if (alternates.length === 0) return new Set();
  const hosts = await c.placement.hosts(alternates.map(({ host }) => host));
  return new Set(hosts.filter(({ enabled }) => !enabled).map(({ name }) => name));
}

const DISABLED = notClaimed('host_disabled: it was taken out of service after it was selected');

/** Claims an alternate with what the instance prefers, or, when that is taken by now, without. */
async function claimAlternate(
  c: ConductorContext,
  { host, allocationRequest, requiredAllocationRequest }: Selection,
  record: Instance,
): Promise<AlternateClaim> {
  const result = await claimWith(c, allocationRequest, record, host);
  if (result.kind === 'claimed' || requiredAllocationRequest === undefined) return result;
  return claimWith(c, requiredAllocationRequest, record, host);
}

/** The sealed bytes: those that are carried, or those that they refer to. */
async function sealedOf(c: ConductorContext, carried: Uint8Array): Promise<Uint8Array | undefined> {
  const id = referencedId(carried);
  if (id === undefined) return carried;
  const [sealed] = await c.placement.allocationRequests([id], c.clock.now());
  return sealed;
}

/**
 * Moves the instance's claim to where an allocation request says. A guard that does not hold means that this step was done
 * before: then the claim is found by its consumer, and is the one that is wanted, another one, or gone.
 */
async function claimWith(
  c: ConductorContext,
  carried: Uint8Array,
  record: Instance,
  host: string,
): Promise<AlternateClaim> {
  const { uuid, claimToken } = record;
  const allocationRequest = await sealedOf(c, carried);
  if (allocationRequest === undefined) {
    return {
      ...notClaimed('allocation_request_unknown: it has expired, or the store does not know it'),
      hasExpired: true,
    };
  }
  const request = openRequest(c, allocationRequest, c.clock.now());
  if (request === undefined) return { ...notClaimed('its allocation request can not be opened'), hasExpired: true };
  // A reference that was exchanged for another's is no claim of this one.
  if (request.consumerUuid !== uuid) return notClaimed('its allocation request is of another instance');
  // Alternates travel through the host that failed.
  if (request.host !== host) return notClaimed(`its allocation request is of host ${request.host}`);
  const claim = async (expect: ConsumerGuard) => {
    const reserved = await reservationOf(c, record);
    const own = claimWrite(request, expect);
    const consumers = reserved ? [withoutClaimed(reserved, request), own] : [own];
    return c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), withinQuota: true, consumers });
  };
  let result = await claim(claimToken === undefined ? { kind: 'absent' } : { kind: 'claim', claimToken });
  if (result.kind === 'generation') {
    const [holder] = await c.placement.consumers([request.consumerUuid]);
    if (isClaimOf(record, holder) && holder.claimToken > (claimToken ?? 0)) {
      return isDeepStrictEqual(request.allocations, holder.allocations)
        ? { kind: 'claimed', claimToken: holder.claimToken, allocationRequest }
        : notClaimed('it holds another claim');
    }
    // An older claim than the record knows is what a store that went back had: by that nobody builds any more.
    result = await claim(holder ? { kind: 'claim', claimToken: holder.claimToken } : { kind: 'absent' });
  }
  switch (result.kind) {
    case 'committed':
      return { kind: 'claimed', claimToken: result.claimToken, allocationRequest };
    case 'capacity':
      return notClaimed(`${result.resourceClass}: ${result.refusal}`);
    case 'nominated':
      return notClaimed(`${result.resourceClass}: others make room there for an instance of no lower priority`);
    case 'reserved':
      return notClaimed(`${result.resourceClass}: it is reserved there`);
    case 'quota':
      return notClaimed(`quota_exceeded: ${sentenceOf(result.excess)}`);
    case 'group':
      return notClaimed(`server group ${result.groupId} forbids it`);
    case 'not_found':
      return notClaimed(`${result.subject} ${result.key} is gone`);
    case 'owner':
      return notClaimed('somebody else has its uuid');
    case 'unchanged':
    case 'generation':
    case 'exists':
    case 'in_use':
    case 'stale':
    case 'zone':
    case 'full':
      return notClaimed(result.kind);
  }
}

function notClaimed(reason: string): Extract<AlternateClaim, { kind: 'not_claimed' }> {
  return { kind: 'not_claimed', reason };
}
