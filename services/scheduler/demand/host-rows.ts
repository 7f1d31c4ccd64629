import { capacityOf } from '#libs/domain/inventory';
import type { HostState } from '../fleet/host-state';

/**
 * Free amounts of each host, as a row of numbers that is read from its state once, and again after a change. Every class
 * of requests weighs the same hosts; reading adjacent numbers is cheaper than looking amounts up by name each time.
 */
export class HostRows {
  /** For each resource class: the free amount, 0 or more, and 1 / capacity, 0 without any. Then what the room is worth, NaN until it is known. */
  values = new Float64Array(0);
  private readonly width: number;
  private readonly hosts: HostState[] = [];

  constructor(readonly names: readonly string[]) {
    this.width = AMOUNTS * names.length + 1;
  }

  /** Where the row of a host begins. */
  of(host: HostState): number {
    const { hosts, width } = this;
    const { index } = host;
    const row = index * width;
    if (hosts[index] !== host) {
      hosts[index] = host;
      this.read(host, row);
    }
    return row;
  }

  /** Where in a row what is free of a class stands, one over its capacity behind it. */
  freeAt(name: string): number {
    return AMOUNTS * this.names.indexOf(name);
  }

  /** Where in a row the place for a number is that others work out. */
  get worthAt(): number {
    return this.width - 1;
  }

  private read({ inventories, free }: HostState, row: number): void {
    if (row + this.width > this.values.length) {
      const longer = new Float64Array(Math.max(2 * this.values.length, row + this.width));
      longer.set(this.values);
      this.values = longer;
    }
    const { names, values } = this;
    for (const [i, name] of names.entries()) {
      const inventory = inventories[name];
      const capacity = inventory === undefined ? 0 : capacityOf(inventory);
      values[row + AMOUNTS * i] = Math.max(0, free[name] ?? 0);
      values[row + AMOUNTS * i + 1] = capacity > 0 ? 1 / capacity : 0;
    }
    values[row + this.worthAt] = Number.NaN;
  }
}

/** Numbers of each resource class in a row. */
export const AMOUNTS = 2;
