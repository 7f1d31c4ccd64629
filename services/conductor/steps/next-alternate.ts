import { isDeepStrictEqual } from 'node:util';
import type { Selection } from '#libs/contracts/messages';
import { alternatesCodec } from '#libs/contracts/selection';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { ConsumerGuard } from '#libs/placement/port/placement-store';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Conductor } from '../context';
import type { Observation } from '../observation';
import { openRequest } from './claims';

/**
 * Claims the next alternate of an instance whose attempt is concluded, with its allocation request: one commit releases
 * the failed host's claim and takes the new one. An alternate that filled up meanwhile is passed over, and noted.
 *
 * The naive way is to move the claim and then write the record. It fails when the host answers after all in between: one
 * conductor writes ACTIVE on the old host while this one takes its claim away. So the attempt is concluded in the record
 * first, by compare and swap; from then on an answer of the old host is late. A crash leaves a record whose deadline
 * brings somebody here again. It costs one write more, and only when a host fails.
 */
export async function claimNextHost(c: Conductor, record: Instance): Promise<Observation> {
  const nowMs = c.clock.now();
  const alternates = record.alternates.length > 0 ? alternatesCodec.decode(record.alternates) : [];
  const passedOver: Attempt[] = [];
  // Those of an earlier build, on a host that died or gave it up since, are another's.
  const since = record.attempts.findLastIndex(({ outcome }) => outcome === 'evacuated' || outcome === 'shelved') + 1;
  const tried = record.attempts.slice(since).filter(({ outcome }) => outcome !== 'not_claimed');
  for (const [i, alternate] of alternates.entries()) {
    if (tried.length >= c.config.maxAttempts) break;
    const result = await claimAlternate(c, alternate, record.claimToken);
    if (result.kind === 'claimed') {
      const { host, serviceHost, epoch } = alternate;
      const { claimToken, allocationRequest } = result;
      const place = { host, serviceHost, allocationRequest, epoch, claimToken };
      return { kind: 'claimed', target: { ...place, alternates: alternates.slice(i + 1), passedOver } };
    }
    const number = attemptNumber(record) + passedOver.length + 1;
    const { reason } = result;
    const { host } = alternate;
    passedOver.push({ host, number, outcome: 'not_claimed', reason, startedAtMs: nowMs, endedAtMs: nowMs });
  }
  const last = tried.at(-1);
  const message = `${tried.length} host(s) were tried and no alternate is left; ${last?.host} said: ${last?.reason}`;
  return { kind: 'no_host', fault: { reason: 'hosts_exhausted', message }, passedOver };
}

type AlternateClaim =
  | { readonly kind: 'claimed'; readonly claimToken: number; readonly allocationRequest: Uint8Array }
  | { readonly kind: 'not_claimed'; readonly reason: string };

/** Claims an alternate with what the instance prefers, or, when that is taken by now, without. */
async function claimAlternate(
  c: Conductor,
  { allocationRequest, requiredAllocationRequest }: Selection,
  claimToken: number | undefined,
): Promise<AlternateClaim> {
  const result = await claimWith(c, allocationRequest, claimToken);
  if (result.kind === 'claimed' || requiredAllocationRequest === undefined) return result;
  return claimWith(c, requiredAllocationRequest, claimToken);
}

/**
 * Moves the instance's claim to where an allocation request says. A guard that does not hold means that this step was done
 * before: then the claim is found by its consumer, and is the one that is wanted, another one, or gone.
 */
async function claimWith(
  c: Conductor,
  allocationRequest: Uint8Array,
  claimToken: number | undefined,
): Promise<AlternateClaim> {
  const request = openRequest(c, allocationRequest, c.clock.now());
  if (request === undefined) return notClaimed('its allocation request can not be opened');
  const claim = (expect: ConsumerGuard) =>
    c.placement.commit({
      kind: 'write_allocations',
      atMs: c.clock.now(),
      withinQuota: true,
      consumers: [claimWrite(request, expect)],
    });
  let result = await claim(claimToken === undefined ? { kind: 'absent' } : { kind: 'claim', claimToken });
  if (result.kind === 'generation') {
    const [holder] = await c.placement.consumers([request.consumerUuid]);
    if (holder) {
      return isDeepStrictEqual(request.allocations, holder.allocations)
        ? { kind: 'claimed', claimToken: holder.claimToken, allocationRequest }
        : notClaimed('it holds another claim');
    }
    result = await claim({ kind: 'absent' });
  }
  switch (result.kind) {
    case 'committed':
      return { kind: 'claimed', claimToken: result.claimToken, allocationRequest };
    case 'capacity':
      return notClaimed(`${result.resourceClass}: ${result.refusal}`);
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

function notClaimed(reason: string): AlternateClaim {
  return { kind: 'not_claimed', reason };
}
