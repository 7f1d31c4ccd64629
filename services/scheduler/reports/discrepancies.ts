import type { HostDiscrepancy } from '#libs/contracts/compute';
import type { RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import { instanceOfConsumer, MIGRATION_CONSUMER, migrationUuidOf } from '#libs/domain/moves/migration';
import { isReservation } from '#libs/domain/queueing/place-lease';
import { nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';

/** On what a host's report and the store disagree, and what conductors can't know without being told. */
export type Difference = Pick<HostDiscrepancy, 'unclaimed' | 'missing' | 'present' | 'saidAfterMs' | 'changing'>;

export interface DifferenceDeps {
  readonly view: PlacementView;
  readonly placement: PlacementStore;
  readonly nowMs: number;
  /** Smallest age of a claim whose instance can be missing. */
  readonly graceMs: number;
  /** Above 0: all that is there is told, as it was after this time (`losses/heard-in-full.ts`). */
  readonly saidAfterMs?: number;
}

/**
 * Finds where a host's report and the store disagree: instances that run there without a claim, and claims older than
 * the grace time without an instance. What the mirror shows is checked with the store first, since the mirror may be
 * behind. When the host's agent is a new one, or the host was down, also what runs there with its claim; and always what is
 * stopped there, in case its record does not know, and what is there by a later claim than the store has: it has gone back.
 *
 * Every report that disagrees is told, because it takes two in a row to settle that an instance is missing. After a store may have
 * lost writes all that a host has is told, until conductors have worked on it (`saidAfterMs`).
 *
 * @returns undefined when host and store agree
 * @throws BerthError `unavailable`
 */
export async function findDifference(
  stats: UpdateResourceStatsRequest,
  { view, placement, nowMs, graceMs, saidAfterMs = 0 }: DifferenceDeps,
): Promise<Difference | undefined> {
  const inFull =
    saidAfterMs > 0 ? { saidAfterMs, changing: stats.instances.filter(({ running }) => !running) } : undefined;
  const oldMs = nowMs - graceMs;
  const suspects = suspectsOf(stats, view, oldMs);
  const isTold =
    inFull || isReturning(stats, view)
      ? () => true
      : (one: RunningInstance) => one.powerState === 'shutdown' || isByLaterClaim(one, view);
  const present = [
    ...suspects.present.filter(isTold),
    ...(inFull ? suspects.stays : turnOf(suspects.stays, stats.sequence)),
  ];
  const uuids = [...suspects.unclaimed.map((instance) => instance.instanceUuid), ...suspects.missing];
  if (uuids.length === 0) {
    return present.length > 0 || inFull ? { unclaimed: [], missing: [], present, ...inFull } : undefined;
  }
  const consumers = new Map((await placement.consumers(uuids)).map((consumer) => [consumer.uuid, consumer]));
  const isHere = (consumer: Consumer | undefined) => consumer !== undefined && holdsOn(consumer, stats, view);
  const unclaimed = suspects.unclaimed.filter(({ instanceUuid }) => !isHere(consumers.get(instanceUuid)));
  const missing = suspects.missing.filter((uuid) => {
    const consumer = consumers.get(uuid);
    return consumer !== undefined && isHere(consumer) && isOldClaim(consumer, oldMs);
  });
  if (unclaimed.length + missing.length + present.length === 0 && !inFull) return undefined;
  const lost = missing.map((uuid) => consumers.get(uuid)).filter((consumer) => consumer !== undefined);
  return { unclaimed, missing: lost.map(instanceOfConsumer), present, ...inFull };
}

/** The first report of an epoch, or of a host that was down. */
function isReturning({ host: name, epoch }: UpdateResourceStatsRequest, view: PlacementView): boolean {
  const host = view.host(name);
  return host === undefined || !host.up || host.epoch !== epoch;
}

function isByLaterClaim({ instanceUuid, claimToken }: RunningInstance, view: PlacementView): boolean {
  return claimToken > (view.consumer(instanceUuid)?.claimToken ?? claimToken);
}

function suspectsOf(stats: UpdateResourceStatsRequest, view: PlacementView, oldMs: number) {
  const unclaimed: RunningInstance[] = [];
  const present: RunningInstance[] = [];
  const stays: RunningInstance[] = [];
  const reported = new Set<string>();
  for (const said of stats.instances) {
    const instance = onOwnProviders(said, stats);
    reported.add(instance.instanceUuid);
    if (instance.unreadable) stays.push(instance);
    // Builds and destroys in progress are reported by themselves.
    if (!instance.running) continue;
    const consumer = view.consumer(instance.instanceUuid);
    if (consumer && holdsOn(consumer, stats, view)) present.push(instance);
    // Its move holds what it has here; what was not handed over conductors have to know of.
    else if (isKeptHere(instance, stats, view)) {
      if (!instance.handedOver) stays.push(instance);
    } else unclaimed.push(instance);
  }
  const missing = new Set<string>();
  for (const { uuid: providerUuid } of view.tree(stats.providerUuid)) {
    for (const uuid of view.consumersOn(providerUuid)) {
      const consumer = reported.has(uuid) ? undefined : view.consumer(uuid);
      // A migration's holdings are kept for its instance, and reservations do not run.
      if (consumer && (reported.has(instanceOfConsumer(consumer)) || isReservation(consumer))) continue;
      if (consumer && isOldClaim(consumer, oldMs)) missing.add(uuid);
    }
  }
  return { unclaimed, present, stays, missing: [...missing] };
}

/** Instances without a claim that one report shows to conductors. */
export const TOLD_AT_ONCE = 1_000;

/**
 * Those that conductors look at by one report: each look costs them reads of the store, and an agent may invent what no claim bounds. The
 * reports of a run take turns, so that all are looked at in the end.
 */
export function turnOf<T>(all: readonly T[], sequence: number): readonly T[] {
  const turns = Math.ceil(all.length / TOLD_AT_ONCE);
  const from = turns <= 1 ? 0 : (sequence % turns) * TOLD_AT_ONCE;
  return all.slice(from, from + TOLD_AT_ONCE);
}

function isKeptHere(
  { instanceUuid }: RunningInstance,
  stats: UpdateResourceStatsRequest,
  view: PlacementView,
): boolean {
  const kept = view.consumer(migrationUuidOf(instanceUuid));
  return kept !== undefined && isClaimOf(kept, kept, MIGRATION_CONSUMER) && holdsOn(kept, stats, view);
}

/** A host speaks for its own providers only: what it says of others is left out. */
function onOwnProviders(
  instance: RunningInstance,
  { providerUuid, nestedProviders }: UpdateResourceStatsRequest,
): RunningInstance {
  const { allocations = {} } = instance;
  if (Object.keys(allocations).length === 0) return instance;
  const own = new Set([providerUuid, ...nestedProviders.map(({ name }) => nestedProviderUuid(providerUuid, name))]);
  const kept = Object.entries(allocations).filter(([uuid]) => own.has(uuid));
  return { ...instance, allocations: Object.fromEntries(kept) };
}

/** Consumers of the placement API run nowhere that agents know of. */
function isOldClaim({ owner, updatedAtMs }: Consumer, oldMs: number): boolean {
  return owner === 'conductor' && updatedAtMs <= oldMs;
}

export function holdsOn(
  consumer: Consumer,
  { providerUuid: rootUuid }: UpdateResourceStatsRequest,
  view: PlacementView,
): boolean {
  for (const uuid in consumer.allocations) {
    if (uuid === rootUuid || view.provider(uuid)?.rootUuid === rootUuid) return true;
  }
  return false;
}
