import type { HostDiscrepancy, RunningInstance, UpdateResourceStatsRequest } from '#libs/contracts/messages';
import type { Clock } from '#libs/domain/clock';
import type { Consumer } from '#libs/domain/consumer';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';

/**
 * Finds where a host's report and the store disagree: instances that run there without a claim, and claims older than
 * the grace time without an instance. What the mirror shows is checked with the store first, since the mirror may be
 * behind; and a host is reported at most once in a grace time, for repairs take longer than the next report.
 */
export class Discrepancies {
  private readonly lookedAtMs = new Map<string, number>();

  constructor(
    private readonly deps: {
      readonly view: PlacementView;
      readonly placement: PlacementStore;
      readonly clock: Clock;
      readonly graceMs: number;
    },
  ) {}

  /** What conductors must repair; undefined when host and store agree. @throws BerthError `unavailable`. */
  async find(stats: UpdateResourceStatsRequest): Promise<HostDiscrepancy | undefined> {
    const { view, placement, clock, graceMs } = this.deps;
    const nowMs = clock.now();
    const oldMs = nowMs - graceMs;
    const suspects = suspectsOf(stats, view, oldMs);
    if (suspects.unclaimed.length + suspects.missing.length === 0) {
      this.lookedAtMs.delete(stats.host);
      return undefined;
    }
    if ((this.lookedAtMs.get(stats.host) ?? Number.NEGATIVE_INFINITY) > oldMs) return undefined;
    this.lookedAtMs.set(stats.host, nowMs);
    const uuids = [...suspects.unclaimed.map((instance) => instance.instanceUuid), ...suspects.missing];
    const consumers = new Map((await placement.consumers(uuids)).map((consumer) => [consumer.uuid, consumer]));
    const isHere = (consumer: Consumer | undefined) => consumer !== undefined && holdsOn(consumer, stats, view);
    const unclaimed = suspects.unclaimed.filter(({ instanceUuid }) => !isHere(consumers.get(instanceUuid)));
    const missing = suspects.missing.filter((uuid) => {
      const consumer = consumers.get(uuid);
      return consumer !== undefined && isHere(consumer) && isOldClaim(consumer, oldMs);
    });
    if (unclaimed.length + missing.length === 0) return undefined;
    const { host, providerUuid, serviceHost } = stats;
    return { host, providerUuid, unclaimed, missing, serviceHost };
  }
}

function suspectsOf(stats: UpdateResourceStatsRequest, view: PlacementView, oldMs: number) {
  const unclaimed: RunningInstance[] = [];
  const reported = new Set<string>();
  for (const instance of stats.instances) {
    reported.add(instance.instanceUuid);
    const consumer = instance.running ? view.consumer(instance.instanceUuid) : undefined;
    if (instance.running && !(consumer && holdsOn(consumer, stats, view))) unclaimed.push(instance);
  }
  const missing = new Set<string>();
  for (const { uuid: providerUuid } of view.tree(stats.providerUuid)) {
    for (const uuid of view.consumersOn(providerUuid)) {
      const consumer = reported.has(uuid) ? undefined : view.consumer(uuid);
      if (consumer && isOldClaim(consumer, oldMs)) missing.add(uuid);
    }
  }
  return { unclaimed, missing: [...missing] };
}

/** Consumers of the placement API run nowhere that agents know of. */
function isOldClaim({ owner, updatedAtMs }: Consumer, oldMs: number): boolean {
  return owner === 'conductor' && updatedAtMs <= oldMs;
}

function holdsOn(
  consumer: Consumer,
  { providerUuid: rootUuid }: UpdateResourceStatsRequest,
  view: PlacementView,
): boolean {
  for (const uuid in consumer.allocations) {
    if (uuid === rootUuid || view.provider(uuid)?.rootUuid === rootUuid) return true;
  }
  return false;
}
