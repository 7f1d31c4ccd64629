import type { Clock } from '#libs/domain/clock';
import type { FitSettings } from '../hardware/fit-topology';
import type { HostHardware } from '../hardware/host-hardware';
import { takeHardware } from '../hardware/take-hardware';
import type { WantedHardware } from '../hardware/wanted-hardware';

/** Limit of the time that nova-compute takes to write what an instance got; a claim that failed is forgotten then. */
const TAKEN_FOR_MS = 60_000;

/** Hardware of a node as its row tells, and the part that is left. */
export interface HardwareTaken {
  readonly nodeUuid: string;
  readonly read: HostHardware;
  readonly left: HostHardware;
  readonly atMs: number;
}

/**
 * Free hardware of nodes without the part of instances just placed there. It holds until the node's row in Nova's database changes:
 * from then on the row is taken to count them.
 */
export class HardwareOverlay {
  readonly #left = new Map<string, Omit<HardwareTaken, 'nodeUuid'>>();

  /** @param below  another overlay, which counts where this has nothing */
  constructor(
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly below?: HardwareOverlay,
  ) {}

  /** An overlay on this one. */
  above(): HardwareOverlay {
    return new HardwareOverlay(this.clock, this);
  }

  /** @param read  the hardware as the database told it last */
  of(nodeUuid: string, read: HostHardware | undefined): HostHardware | undefined {
    const known = this.#left.get(nodeUuid);
    if (known === undefined) return this.below?.of(nodeUuid, read) ?? read;
    if (known.read === read && this.clock.elapsed() - known.atMs < TAKEN_FOR_MS) return known.left;
    this.#left.delete(nodeUuid);
    return read;
  }

  /** An instance is placed there. */
  take(nodeUuid: string, read: HostHardware | undefined, wanted: WantedHardware, settings: FitSettings): void {
    if (wanted.topology === undefined && wanted.pciRequests.length === 0) return;
    const before = this.of(nodeUuid, read);
    const left = before && takeHardware(before, wanted, settings);
    if (read !== undefined && left !== undefined) this.#left.set(nodeUuid, { read, left, atMs: this.clock.elapsed() });
  }

  /** All that was taken, for a record. */
  taken(): HardwareTaken[] {
    return [...this.#left].map(([nodeUuid, one]) => ({ nodeUuid, ...one }));
  }

  /** Takes what a record has. */
  restore(taken: readonly HardwareTaken[]): void {
    for (const { nodeUuid, ...one } of taken) this.#left.set(nodeUuid, one);
  }

  forget(nodeUuid: string): void {
    this.#left.delete(nodeUuid);
  }
}
