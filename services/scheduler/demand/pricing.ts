import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { EquivalenceClass } from '../request/equivalence-class';
import { type AskedShape, Demand } from './demand';
import { NO_PRICES, type Prices, pricesOf, type RankingPrices } from './prices';
import { type Shape, shapeOf } from './shape';

/** Instances between two prices: at least so many, and at least a tenth of the hosts, so that it costs a request little. */
const INSTANCES_BETWEEN = 50;
const OF_HOSTS = 1 / 10;
/**
 * Of so many prices ranks are made by one, and so many hosts, the best by these ranks, are weighed by the latest prices. Hosts
 * needed over the bound (`npm run bench -- pack`, the mean of both traces and fleets): 1.050; with eight hosts 1.051, and by
 * other traces fewer on one kind and more on mixed fleets. Ranks by each twentieth price: 1.076, in a model of the bench.
 */
const PRICES_PER_RANKS = 10;
export const WEIGHED_ANEW = 16;

/** Instances that are remembered as counted: more than demand remembers of (`HALF_LIFE_INSTANCES`). */
const MAX_COUNTED = 50_000;

/**
 * What this scheduler is asked for, and the prices that follow from it. Prices are kept for some time, because they take a pass
 * over the fleet, and those of ranks longer, because all ranks have to be made anew when they change; what a host would
 * lose is always the host's own.
 */
export class Pricing {
  private readonly demand = new Demand();
  /** Of the classes that are asked for again and again, which are objects of their own. */
  private readonly shapes = new WeakMap<EquivalenceClass, Shape | undefined>();
  /** Instances with the shape that they were counted as, those counted first before others. */
  private readonly counted = new Map<string, string>();
  private kept: RankingPrices = UNPRICED;
  private instancesUntilNext = 0;
  private pricesUntilRanks = 0;

  /** `isInUse` tells whether anything on a fleet is weighed by prices: if not, none are made. */
  constructor(private readonly isInUse: (snapshot: FleetSnapshot) => boolean) {}

  /** The latest: the same object until they change. */
  get prices(): Prices {
    return this.kept.latest;
  }

  /** What hosts are to be ranked by. */
  get forRanking(): RankingPrices {
    return this.kept;
  }

  /**
   * Counts what is asked for, before it is decided. Who is asked for again, because he waits or because no answer came, is not
   * asked for by more; one that is to be of another size is.
   */
  note(equivalenceClass: EquivalenceClass, instanceUuids: readonly string[], snapshot: FleetSnapshot): void {
    const shape = this.shapeOf(equivalenceClass);
    const unknown = shape ? instanceUuids.filter((uuid) => this.counted.get(uuid) !== shape.key) : [];
    if (shape && unknown.length > 0) {
      this.demand.note(shape, unknown.length);
      for (const uuid of unknown) this.remember(uuid, shape);
    }
    this.instancesUntilNext -= instanceUuids.length;
    if (this.instancesUntilNext > 0) return;
    this.instancesUntilNext = Math.max(INSTANCES_BETWEEN, snapshot.hostCount * OF_HOSTS);
    this.kept = this.isInUse(snapshot) ? this.next(this.of(snapshot)) : UNPRICED;
  }

  /** The shapes that are asked for, with their shares. */
  asked(): readonly AskedShape[] {
    return this.demand.asked();
  }

  /** Prices as of a snapshot, in use or not: to explain what a placement costs. */
  of(snapshot: FleetSnapshot): Prices {
    return pricesOf(this.asked(), snapshot);
  }

  private next(latest: Prices): RankingPrices {
    const { ofRanks } = this.kept;
    this.pricesUntilRanks -= 1;
    if (ofRanks !== NO_PRICES && this.pricesUntilRanks > 0) return { latest, ofRanks };
    this.pricesUntilRanks = PRICES_PER_RANKS;
    return { latest, ofRanks: latest };
  }

  private remember(uuid: string, { key }: Shape): void {
    this.counted.delete(uuid);
    this.counted.set(uuid, key);
    const [first] = this.counted.keys();
    if (this.counted.size > MAX_COUNTED && first !== undefined) this.counted.delete(first);
  }

  private shapeOf(equivalenceClass: EquivalenceClass): Shape | undefined {
    if (!this.shapes.has(equivalenceClass)) this.shapes.set(equivalenceClass, shapeOf(equivalenceClass));
    return this.shapes.get(equivalenceClass);
  }
}

const UNPRICED: RankingPrices = { latest: NO_PRICES, ofRanks: NO_PRICES };
