import type { Selection } from '#libs/contracts/messages';
import { alternatesCodec } from '#libs/contracts/selection';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
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
  const tried = record.attempts.filter(({ outcome }) => outcome !== 'not_claimed');
  for (const [i, alternate] of alternates.entries()) {
    if (tried.length >= c.config.maxAttempts) break;
    const result = await claimAlternate(c, alternate, record.claimToken);
    if (result.kind === 'claimed') {
      const { host, serviceHost, allocationRequest, epoch } = alternate;
      const { claimToken } = result;
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
  | { readonly kind: 'claimed'; readonly claimToken: number }
  | { readonly kind: 'not_claimed'; readonly reason: string };

/**
 * Moves the instance's claim to an alternate. A guard that does not hold means that this step was done before: then the
 * claim is found by its consumer, and is on this alternate already, on a later one, or gone.
 */
async function claimAlternate(
  c: Conductor,
  alternate: Selection,
  claimToken: number | undefined,
): Promise<AlternateClaim> {
  const request = openRequest(c, alternate.allocationRequest, c.clock.now());
  if (request === undefined) return notClaimed('its allocation request can not be opened');
  const claim = (expect: ConsumerGuard) =>
    c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), consumers: [claimWrite(request, expect)] });
  let result = await claim(claimToken === undefined ? { kind: 'absent' } : { kind: 'claim', claimToken });
  if (result.kind === 'generation') {
    const [holder] = await c.placement.consumers([request.consumerUuid]);
    if (holder) {
      const isHere = Object.keys(request.allocations).every((provider) => provider in holder.allocations);
      return isHere ? { kind: 'claimed', claimToken: holder.claimToken } : notClaimed('the claim is on another host');
    }
    result = await claim({ kind: 'absent' });
  }
  switch (result.kind) {
    case 'committed':
      return { kind: 'claimed', claimToken: result.claimToken };
    case 'capacity':
      return notClaimed(`${result.resourceClass}: ${result.refusal}`);
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
      return notClaimed(result.kind);
  }
}

function notClaimed(reason: string): AlternateClaim {
  return { kind: 'not_claimed', reason };
}
