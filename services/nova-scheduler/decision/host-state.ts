import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import type { ImageProperties } from '../facts/instance-images';
import type { NovaAggregate, NovaFacts, NovaNode, NovaService } from '../facts/nova-facts';
import type { HostHardware } from '../hardware/host-hardware';
import type { HardwareOverlay } from './hardware-overlay';
import type { KnownHost, WeighedClass } from './known-hosts';
import type { UsageOverlay } from './usage-overlay';

/** Sources of a host's state. */
export interface HostSources {
  readonly view: PlacementView;
  readonly facts: NovaFacts;
  readonly taken: UsageOverlay;
  readonly hardware: HardwareOverlay;
  /** Roots of hosts that got an instance in this decision, by how many. */
  readonly placed: ReadonlyMap<string, number>;
}

/** An amount of a host; `used` has what is reserved, and `free` may be negative. */
export interface HostAmount {
  readonly total: number;
  readonly used: number;
  readonly free: number;
  readonly ratio: number | undefined;
}

/** A compute node as filters and weighers see it in one decision. */
export class HostState {
  readonly node: NovaNode;

  constructor(
    private readonly known: KnownHost,
    /** Ways to claim there, best first; none where nothing is to be claimed. */
    readonly candidates: readonly Candidate[],
    private readonly sources: HostSources,
  ) {
    this.node = known.node;
  }

  get service(): NovaService | undefined {
    return this.known.service;
  }
  get aggregates(): readonly NovaAggregate[] {
    return this.known.aggregates;
  }
  /** Traits of the root provider. */
  get traits(): readonly string[] {
    return this.sources.view.provider(this.node.uuid)?.traits ?? [];
  }

  /** An amount of the root provider that is not taken. */
  free(resourceClass: WeighedClass): number {
    const { taken } = this.sources;
    const free = this.known.free[resourceClass];
    return taken.isEmpty ? free : free - taken.of(this.node.uuid, resourceClass);
  }

  /** An amount of the root provider without its ratio, as Nova's own hosts count. */
  amountOf(resourceClass: string): HostAmount {
    const { view, taken } = this.sources;
    const { uuid } = this.node;
    const inventory = view.provider(uuid)?.inventories[resourceClass];
    if (inventory === undefined) return { total: 0, used: 0, free: 0, ratio: undefined };
    const used = inventory.reserved + (view.usage(uuid)[resourceClass] ?? 0) + taken.of(uuid, resourceClass);
    return { total: inventory.total, used, free: inventory.total - used, ratio: inventory.allocationRatio };
  }

  /** As Nova's own hosts count: at most what nova-compute measured as left, without what this process placed since. */
  get freeDiskGb(): number {
    const { free } = this.amountOf('DISK_GB');
    const { diskAvailableLeastGb: leastGb, uuid } = this.node;
    return leastGb === undefined ? free : Math.min(free, leastGb - this.sources.taken.of(uuid, 'DISK_GB'));
  }

  /** Processors, memory and PCI devices with their usage; undefined where Nova's database does not tell. */
  get hardware(): HostHardware | undefined {
    const { facts, hardware } = this.sources;
    return hardware.of(this.node.uuid, facts.hardware(this.node.uuid));
  }

  /** Properties of the images of its instances; none where Nova's database does not tell. */
  get images(): ImageProperties[] {
    const { facts, view } = this.sources;
    const { uuid, host } = this.node;
    const instances = new Set([...facts.instancesOn(host), ...view.consumersOn(uuid)]);
    return [...instances].flatMap((one) => facts.imageOf(one) ?? []);
  }

  get instanceCount(): number {
    const { facts, view } = this.sources;
    const { uuid, host } = this.node;
    return Math.max(facts.instancesOn(host).size, view.consumersOn(uuid).size) + this.#placedHere;
  }

  /** Instances in the middle of an operation, those placed before in this decision among them. */
  get ioOps(): number {
    return this.node.ioOps + this.#placedHere;
  }

  get #placedHere(): number {
    const { placed } = this.sources;
    return placed.size === 0 ? 0 : (placed.get(this.node.uuid) ?? 0);
  }

  /** The first way to claim that fits beside what is taken. */
  get fittingCandidate(): Candidate | undefined {
    const { taken, view } = this.sources;
    return this.candidates.find(({ allocations }) => taken.fits(allocations, view));
  }
}
