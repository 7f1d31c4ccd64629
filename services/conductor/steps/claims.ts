import { isClaimOf } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { ConsumerGuard, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { AllocationRequest } from '#libs/placement/sealed/allocation-request';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { ConductorContext } from '../context';
import type { Holds, RunningAt } from '../observation';

/**
 * The claim that an instance holds now. What another owner or another project holds under its uuid, and what is no instance's, is
 * not its claim.
 */
export async function readClaim(c: ConductorContext, uuid: string, record?: Instance): Promise<Holds> {
  const [consumer] = await c.placement.consumers([uuid]);
  if (consumer === undefined || !isClaimOf(record ?? consumer, consumer)) return { kind: 'none' };
  const isOnHost = record !== undefined && (await isOnHostOf(c, record, Object.keys(consumer.allocations)));
  return { kind: 'claim', claimToken: consumer.claimToken, isOnHost };
}

/**
 * True if a claim is on the host of a record: on the providers of the record's allocation request, or else on the host's root
 * provider.
 */
async function isOnHostOf(c: ConductorContext, record: Instance, providers: readonly string[]): Promise<boolean> {
  const request = openRequest(c, record.allocationRequest);
  if (request && request.host === record.host) {
    const wanted = Object.keys(request.allocations);
    return wanted.length === providers.length && wanted.every((uuid) => providers.includes(uuid));
  }
  const [host] = record.host === undefined ? [] : await c.placement.hosts([record.host]);
  return host !== undefined && providers.includes(host.providerUuid);
}

/** A claim's consumer and its type, an instance unless given. The project of a claim without a record is not known. */
export interface Claimant {
  readonly uuid: string;
  readonly projectId?: string | undefined;
  readonly consumerType?: string | undefined;
}

/** Releases a claim. Releasing a superseded claim, or one of another consumer than named, is a no-op. */
export async function release(c: ConductorContext, claimant: Claimant, claimToken: number): Promise<void> {
  const { uuid: consumerUuid, projectId, consumerType } = claimant;
  const whose = { consumerUuid, projectId, consumerType };
  await c.placement.commit({ kind: 'release_claim', atMs: c.clock.now(), ...whose, claimToken });
}

/** Releases whatever an instance holds: for records that are deleting, and so can't be given a new claim. */
export async function releaseHeld(c: ConductorContext, record: Instance): Promise<void> {
  const holds = await readClaim(c, record.uuid, record);
  if (holds.kind === 'claim') await release(c, record, holds.claimToken);
}

/**
 * Releases what an instance holds elsewhere than on its host, by another claim than its record names: it is left of a move that never
 * came on record. A scheduler would answer with it, while an audit takes it back.
 */
export async function releaseElsewhere(c: ConductorContext, record: Instance): Promise<void> {
  const holds = await readClaim(c, record.uuid, record);
  const isLeft = holds.kind === 'claim' && !holds.isOnHost && holds.claimToken !== record.claimToken;
  if (isLeft) await release(c, record, holds.claimToken);
}

export type ClaimedAgain =
  | { readonly kind: 'claimed'; readonly claimToken: number }
  /** It holds something by now. */
  | { readonly kind: 'held' }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Claims again what a running instance holds by its record, whether it fits or not: it runs. All of it, on every provider,
 * with its group. A record of an older version has no allocation request; then what its host says that it uses is claimed, on
 * the host's own providers: on the root, where it does not say on which.
 *
 * @param replaces  the token of the claim that it takes the place of; undefined for none
 */
export async function claimAgain(
  c: ConductorContext,
  record: Instance,
  replaces: number | undefined,
  at: RunningAt | undefined,
): Promise<ClaimedAgain> {
  const request = openRequest(c, record.allocationRequest);
  const expect: ConsumerGuard = replaces === undefined ? { kind: 'absent' } : { kind: 'claim', claimToken: replaces };
  const consumer = request ? claimWrite(request, expect) : at && whatRuns(record, at, expect);
  if (!consumer) return { kind: 'refused', reason: 'nothing says what it held' };
  const atMs = c.clock.now();
  const result = await c.placement.commit({ kind: 'write_allocations', atMs, force: true, consumers: [consumer] });
  switch (result.kind) {
    case 'committed':
      return { kind: 'claimed', claimToken: result.claimToken };
    case 'generation': {
      const holds = await readClaim(c, record.uuid, record);
      return holds.kind === 'claim' ? { kind: 'held' } : { kind: 'refused', reason: 'somebody else has its uuid' };
    }
    case 'not_found':
      return { kind: 'refused', reason: `${result.subject} ${result.key} is gone` };
    default:
      return { kind: 'refused', reason: result.kind };
  }
}

/**
 * Claims for an instance without a record what a scheduler sealed: by force, since what it uses is reserved while it has no claim, but
 * no more than its providers have in all, by what was sealed too: an agent may report more than there is. Everything that really ran
 * there fits; a host that shows what was sealed for instances of different times does not. Its project's quota refuses nothing that
 * runs: what exceeds it is claimed, and shown.
 *
 * @param capacities  as `Voucher.capacities`
 */
export async function claimSealed(
  c: ConductorContext,
  request: AllocationRequest,
  capacities: Resources | undefined,
): Promise<ClaimedSealed> {
  const consumers = [{ ...claimWrite(request, { kind: 'absent' }), capacities }];
  const claim = (withinQuota: boolean) => {
    const terms = { force: true, withinTotal: true, withinQuota } as const;
    return c.placement.commit({ kind: 'write_allocations', atMs: c.clock.now(), ...terms, consumers });
  };
  const within = await claim(true);
  const result = within.kind === 'quota' ? await claim(false) : within;
  if (result.kind === 'capacity') {
    const { resourceClass, providerUuid, usage } = result;
    const used = usage.used[resourceClass] ?? 0;
    return {
      kind: 'above_total',
      why: `with it more ${resourceClass} would be claimed of provider ${providerUuid} than there is, ${used} is`,
    };
  }
  return within.kind === 'quota' ? { kind: 'above_quota', why: sentenceOf(within.excess) } : { kind: 'claimed' };
}

export type ClaimedSealed =
  /** Or it holds something already. */
  | { readonly kind: 'claimed' }
  /** Claimed, with more than its project may hold. */
  | { readonly kind: 'above_quota'; readonly why: string }
  | { readonly kind: 'above_total'; readonly why: string };

/** The allocation request that a scheduler sealed for exactly this instance and host; undefined for any other bytes. */
export function sealedFor(
  c: ConductorContext,
  sealed: Uint8Array,
  instanceUuid: string,
  host: string,
): AllocationRequest | undefined {
  const request = openRequest(c, sealed);
  return request?.consumerUuid === instanceUuid && request.host === host ? request : undefined;
}

function whatRuns(
  { uuid, projectId, userId }: Instance,
  { providerUuid, instance: { resources, allocations = {} } }: RunningAt,
  expect: ConsumerGuard,
): ConsumerWrite {
  const who = { uuid, projectId, userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
  const isSaid = Object.keys(allocations).length > 0;
  return { ...who, allocations: isSaid ? allocations : { [providerUuid]: resources }, mappings: {}, expect };
}

/**
 * Opens a sealed allocation request; undefined when there is none, or it was sealed under another key.
 *
 * @param nowMs  given to claim with it, when it must not have expired; without, it is proof of what was once selected
 */
export function openRequest(c: ConductorContext, sealed: Uint8Array, nowMs?: number): AllocationRequest | undefined {
  if (sealed.length === 0) return undefined;
  try {
    return c.open(sealed, nowMs);
  } catch (thrown) {
    c.log.error({ event: 'allocation_request_not_opened', err: thrown }, 'allocation request not opened');
    return undefined;
  }
}
