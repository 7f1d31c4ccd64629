import { lru } from '#libs/runtime/lru';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { EquivalenceClass } from '../request/equivalence-class';
import { type AskedShape, Demand } from './demand';
import { PriceDrift } from './price-drift';
import { NO_PRICES, type Prices, pricesOf } from './prices';
import { type Shape, shapeOf } from './shape';

/**
 * Instances between two looks at the prices: at least so many, and a quarter as many as there are hosts. New prices make all
 * ranks anew; shared by so many decisions that costs each of them little, at any size of the fleet.
 */
const INSTANCES_BETWEEN = 10;
const OF_HOSTS = 0.25;

/** Instances that are remembered as counted: more than demand remembers of (`HALF_LIFE_INSTANCES`). */
const MAX_COUNTED = 50_000;

/**
 * The demand seen by this scheduler, and the prices that follow from it. Prices are kept until they have drifted too far; a
 * host's loss is always the host's own.
 */
export class Pricing {
  private readonly demand = new Demand();
  /** Shapes of classes that recur, by identity. */
  private readonly shapes = new WeakMap<EquivalenceClass, Shape | undefined>();
  /** Instances with the shape that they were counted as; those counted longest ago go first. */
  private readonly counted = lru<string, string>(MAX_COUNTED);
  private kept: Prices = NO_PRICES;
  private drift: PriceDrift | undefined;
  private instancesUntilLook = 0;

  /** `isInUse` tells whether anything on a fleet is weighed by prices: if not, none are made. */
  constructor(private readonly isInUse: (snapshot: FleetSnapshot) => boolean) {}

  /** The latest: the same object until they change. */
  get prices(): Prices {
    return this.kept;
  }

  /**
   * Counts what is asked for, before it is decided. Who is asked for again, because he waits or because no answer came, is not
   * asked for by more; one that is to be of another size is.
   */
  note(equivalenceClass: EquivalenceClass, instanceUuids: readonly string[], snapshot: FleetSnapshot): void {
    const shape = this.shapeOf(equivalenceClass);
    const unknown = shape ? instanceUuids.filter((uuid) => this.counted.peek(uuid) !== shape.key) : [];
    if (shape && unknown.length > 0) {
      this.demand.note(shape, unknown.length);
      for (const uuid of unknown) this.counted.set(uuid, shape.key);
    }
    this.instancesUntilLook -= instanceUuids.length;
    if (this.instancesUntilLook > 0) return;
    this.instancesUntilLook = Math.max(INSTANCES_BETWEEN, snapshot.hostCount * OF_HOSTS);
    if (this.drift && !this.drift.isTooFar(snapshot, this.demand)) return;
    const isInUse = this.isInUse(snapshot);
    this.kept = isInUse ? this.of(snapshot) : NO_PRICES;
    this.drift = isInUse ? new PriceDrift(this.kept, snapshot) : undefined;
  }

  /** The shapes that are asked for, with their shares. */
  asked(): readonly AskedShape[] {
    return this.demand.asked();
  }

  /** Prices as of a snapshot, in use or not: to explain what a placement costs. */
  of(snapshot: FleetSnapshot): Prices {
    return pricesOf(this.asked(), snapshot);
  }

  private shapeOf(equivalenceClass: EquivalenceClass): Shape | undefined {
    if (!this.shapes.has(equivalenceClass)) this.shapes.set(equivalenceClass, shapeOf(equivalenceClass));
    return this.shapes.get(equivalenceClass);
  }
}
