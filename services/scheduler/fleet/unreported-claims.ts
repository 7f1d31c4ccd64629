import type { Consumer } from '#libs/domain/consumer';
import { isReservation } from '#libs/domain/queueing/place-lease';
import type { PlacementView } from '#libs/placement/port/placement-view';

/** Claims on one host that it has not had time to report. */
export interface UnreportedCount {
  readonly count: number;
  /** When the oldest was made; infinite when there is none. */
  readonly oldestMs: number;
}

interface Claim {
  readonly uuid: string;
  readonly atMs: number;
}

/**
 * Claims that are newer than the last report of their host: builds in progress that its report does not count yet. A host
 * may run thousands of instances and is read with every claim on it, so these few are kept by themselves, oldest first.
 */
export class UnreportedClaims {
  private readonly byRoot = new Map<string, Claim[]>();
  private readonly rootOf = new Map<string, string>();

  constructor(private readonly view: PlacementView) {}

  /** Begins anew with all consumers of the view. */
  readAll(): void {
    this.byRoot.clear();
    this.rootOf.clear();
    for (const consumer of this.view.consumers()) this.add(consumer);
  }

  /** Reads a consumer that changed or is gone. */
  read(uuid: string): void {
    this.remove(uuid);
    const consumer = this.view.consumer(uuid);
    if (consumer) this.add(consumer);
  }

  /** Those newer than `newsMs`, the time of the last report; older ones are forgotten, for reports only get newer. */
  newerThan(newsMs: number, rootUuid: string): UnreportedCount {
    const claims = this.byRoot.get(rootUuid);
    if (!claims) return NONE;
    let settled = 0;
    while (settled < claims.length && (claims[settled] as Claim).atMs <= newsMs) settled += 1;
    if (settled > 0) for (const { uuid } of claims.splice(0, settled)) this.rootOf.delete(uuid);
    const oldest = claims[0];
    if (oldest) return { count: claims.length, oldestMs: oldest.atMs };
    this.byRoot.delete(rootUuid);
    return NONE;
  }

  private add(consumer: Consumer): void {
    const { uuid, owner, allocations, updatedAtMs: atMs } = consumer;
    const isBuilt = owner === 'conductor' && !isReservation(consumer);
    const rootUuid = isBuilt ? this.hostRootOf(allocations) : undefined;
    if (rootUuid === undefined) return;
    let claims = this.byRoot.get(rootUuid);
    if (!claims) this.byRoot.set(rootUuid, (claims = []));
    this.rootOf.set(uuid, rootUuid);
    // They come in order, or nearly so: the clocks of several schedulers differ a little.
    let at = claims.length;
    while (at > 0 && (claims[at - 1] as Claim).atMs > atMs) at -= 1;
    if (at === claims.length) claims.push({ uuid, atMs });
    else claims.splice(at, 0, { uuid, atMs });
  }

  private remove(uuid: string): void {
    const rootUuid = this.rootOf.get(uuid);
    if (rootUuid === undefined) return;
    this.rootOf.delete(uuid);
    const claims = this.byRoot.get(rootUuid) ?? [];
    const at = claims.findIndex((claim) => claim.uuid === uuid);
    if (at >= 0) claims.splice(at, 1);
  }

  private hostRootOf(allocations: Consumer['allocations']): string | undefined {
    for (const providerUuid in allocations) {
      const rootUuid = this.view.provider(providerUuid)?.rootUuid;
      if (rootUuid !== undefined && this.view.hostOfRoot(rootUuid)) return rootUuid;
    }
    return undefined;
  }
}

const NONE: UnreportedCount = { count: 0, oldestMs: Number.POSITIVE_INFINITY };
