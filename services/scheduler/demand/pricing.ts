import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { EquivalenceClass } from '../request/equivalence-class';
import { Demand } from './demand';
import { NO_PRICES, type Prices, pricesOf } from './prices';
import { type Shape, shapeOf } from './shape';

/** Instances between two prices: at least so many, and at least a tenth of the hosts, so that it costs a request little. */
const INSTANCES_BETWEEN = 50;
const OF_HOSTS = 1 / 10;

/**
 * What this scheduler is asked for, and the prices that follow from it. Prices are kept for some time, because
 * all ranks have to be made anew when they change; what a host would lose is always the host's own.
 */
export class Pricing {
  private readonly demand = new Demand();
  /** Of the classes that are asked for again and again, which are objects of their own. */
  private readonly shapes = new WeakMap<EquivalenceClass, Shape | undefined>();
  private kept = NO_PRICES;
  private instancesUntilNext = 0;

  /** `isInUse` tells whether anything on a fleet is weighed by prices: if not, none are made. */
  constructor(private readonly isInUse: (snapshot: FleetSnapshot) => boolean) {}

  /** The same object until they change. */
  get prices(): Prices {
    return this.kept;
  }

  /** Counts what is asked for, before it is decided. */
  note(equivalenceClass: EquivalenceClass, instances: number, snapshot: FleetSnapshot): void {
    const shape = this.shapeOf(equivalenceClass);
    if (shape && instances > 0) this.demand.note(shape, instances);
    this.instancesUntilNext -= instances;
    if (this.instancesUntilNext > 0) return;
    this.instancesUntilNext = Math.max(INSTANCES_BETWEEN, snapshot.hostCount * OF_HOSTS);
    this.kept = this.isInUse(snapshot) ? this.of(snapshot) : NO_PRICES;
  }

  /** Prices as of a snapshot, in use or not: to explain what a placement costs. */
  of(snapshot: FleetSnapshot): Prices {
    return pricesOf(this.demand.asked(), snapshot);
  }

  private shapeOf(equivalenceClass: EquivalenceClass): Shape | undefined {
    if (!this.shapes.has(equivalenceClass)) this.shapes.set(equivalenceClass, shapeOf(equivalenceClass));
    return this.shapes.get(equivalenceClass);
  }
}
