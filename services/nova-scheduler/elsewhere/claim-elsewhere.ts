import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import { type Clock, sleep } from '#libs/domain/clock';
import type { Allocations } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { type Claimed, type InstanceClaim, mergedAllocations } from '../decision/claim';
import type { Pick } from '../decision/place-instances';
import type { NovaRequest } from '../request/nova-request';
import type { AwaitedClaims } from './awaited-claims';
import type { ConsumerBody, HeldAllocations, PlacementClient, Written } from './placement-client';

/** Nova tries a claim as often when others write at once. */
const ATTEMPTS = 4;
const READS_AT_ONCE = 10;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** A placement that is not Berth's, and the claims there that its copy does not show yet. */
export interface Elsewhere {
  readonly client: PlacementClient;
  readonly awaited: AwaitedClaims;
}

export interface ElsewhereDeps extends Elsewhere {
  readonly mirror: Mirror;
  readonly clock: Clock;
  /** Limit of a wait for the copy of placement. */
  readonly catchUpMs: number;
}

/** Holdings by instance, as the copy showed them when the decision was made. */
export type ShownHoldings = ReadonlyMap<string, Allocations>;

/**
 * Claims for all instances of a request in a placement that is not Berth's, by Nova's own rules (`claim_resources`): what an instance
 * holds it keeps beside, generations guard it, and writes that met others are made again. POST /allocations writes all of them or none.
 *
 * A write whose answer did not come may have happened: what the instances hold then tells. An instance that holds something of which the
 * decision did not know, perhaps by a scheduler that died with this call in hand, is decided on again: kept beside, it would be claimed twice.
 */
export async function claimElsewhere(
  claims: readonly InstanceClaim[],
  request: NovaRequest,
  shown: ShownHoldings,
  deps: ElsewhereDeps,
): Promise<Claimed> {
  const { client, mirror, awaited } = deps;
  const known = claims.filter(({ instanceUuid }) => mirror.consumer(instanceUuid) !== undefined);
  let held = await heldBy(known, client);
  if (known.some((claim) => holdsUnknown(claim, held, shown))) return decideAgain(known, held, deps);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const wanted = new Map(claims.map((claim) => [claim.instanceUuid, wantedOf(claim, held)]));
    const written = await client.write(bodiesOf(claims, wanted, held, request)).catch((thrown: unknown) => {
      if (attempt === ATTEMPTS) throw thrown;
      // No answer came.
      return undefined;
    });
    if (written?.kind === 'refused' && written.code !== 'placement.concurrent_update')
      return conflictOf(written, claims, deps);
    const now = written?.kind === 'written' ? undefined : await heldBy(claims, client);
    if (now === undefined || claims.every(({ instanceUuid: uuid }) => holds(now.get(uuid), wanted.get(uuid)))) {
      for (const claim of claims) awaited.add(claim);
      return { kind: 'claimed' };
    }
    if (claims.some((claim) => holdsUnknown(claim, now, shown))) return decideAgain(claims, now, deps);
    held = now;
  }
  return { kind: 'conflict', refusedRoot: undefined };
}

/** A conflict, once the copy shows what the instances hold, or changed at least. */
async function decideAgain(
  claims: readonly InstanceClaim[],
  held: HeldByInstance,
  deps: ElsewhereDeps,
): Promise<Claimed> {
  const { mirror } = deps;
  const shown = new Map(claims.map(({ instanceUuid: uuid }) => [uuid, mirror.consumer(uuid)?.allocations ?? {}]));
  if (claims.some((claim) => holdsUnknown(claim, held, shown))) await nextChange(deps);
  return { kind: 'conflict', refusedRoot: undefined };
}

/** The claims that their instances hold in truth: a copy may still show one that was given back a minute ago. */
export async function stillHeld(held: ReadonlyMap<string, Pick>, client: PlacementClient): Promise<Map<string, Pick>> {
  const claims = [...held.keys()].map((instanceUuid) => ({ instanceUuid }));
  const inTruth = await heldBy(claims, client);
  return new Map(
    [...held].filter(([uuid, { candidate }]) =>
      Object.entries(candidate?.allocations ?? {}).every(([provider, resources]) =>
        isDeepStrictEqual(inTruth.get(uuid)?.allocations[provider], resources),
      ),
    ),
  );
}

type HeldByInstance = ReadonlyMap<string, HeldAllocations>;

async function heldBy(
  claims: readonly { readonly instanceUuid: string }[],
  client: PlacementClient,
): Promise<HeldByInstance> {
  const limit = pLimit(READS_AT_ONCE);
  const reads = claims.map(({ instanceUuid: uuid }) => limit(async () => [uuid, await client.held(uuid)] as const));
  return new Map(await Promise.all(reads));
}

function wantedOf({ instanceUuid, candidate }: InstanceClaim, held: HeldByInstance): Allocations {
  return mergedAllocations(held.get(instanceUuid)?.allocations ?? {}, candidate.allocations);
}

function holds(held: HeldAllocations | undefined, wanted: Allocations | undefined): boolean {
  return isDeepStrictEqual({ ...held?.allocations }, { ...wanted });
}

/** True when an instance holds something that was not shown. */
function holdsUnknown({ instanceUuid: uuid }: InstanceClaim, held: HeldByInstance, shown: ShownHoldings): boolean {
  const providers = Object.keys(held.get(uuid)?.allocations ?? {});
  return providers.some((provider) => !(provider in (shown.get(uuid) ?? {})));
}

function bodiesOf(
  claims: readonly InstanceClaim[],
  wanted: ReadonlyMap<string, Allocations>,
  held: HeldByInstance,
  { projectId, userId }: NovaRequest,
): Readonly<Record<string, ConsumerBody>> {
  const bodies = claims.map(({ instanceUuid: uuid, candidate: { mappings } }): [string, ConsumerBody] => {
    const byProvider = Object.entries(wanted.get(uuid) ?? {}).map(([provider, resources]) => [provider, { resources }]);
    return [
      uuid,
      {
        allocations: Object.fromEntries(byProvider) as ConsumerBody['allocations'],
        ...(Object.keys(mappings).length > 0 && { mappings }),
        project_id: projectId,
        user_id: userId,
        consumer_generation: held.get(uuid)?.generation ?? null,
      },
    ];
  });
  return Object.fromEntries(bodies);
}

/** A host that is full, or gone: the sentence names its provider. */
function conflictOf(
  { status, detail }: Written & { kind: 'refused' },
  claims: readonly InstanceClaim[],
  { mirror }: ElsewhereDeps,
): Claimed {
  const root = mirror.provider(UUID.exec(detail)?.[0] ?? '')?.rootUuid;
  const refusedRoot = root ?? (claims.length === 1 ? claims[0]?.candidate.rootUuid : undefined);
  if (refusedRoot !== undefined) return { kind: 'conflict', refusedRoot };
  throw new BerthError('internal', 'placement_refused', `Placement refuses a claim with ${status}: ${detail}`);
}

/** Resolves with the next change of the copy, or when a decision has waited long enough. */
async function nextChange({ mirror, clock, catchUpMs }: ElsewhereDeps): Promise<void> {
  const changed = new AbortController();
  const stop = mirror.onChange(() => changed.abort());
  await sleep(clock, catchUpMs, changed.signal);
  stop();
}
