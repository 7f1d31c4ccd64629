import type { HostState } from '../fleet/host-state';

/**
 * Free amounts of each host, as a row of numbers that is read from its state once, and again after a change. Every class
 * of requests weighs the same hosts; reading adjacent numbers is cheaper than looking amounts up by name each time.
 */
export class HostRows {
  /** For each resource class the free amount, 0 or more. Then what the room is worth, NaN until it is known. */
  values = new Float64Array(0);
  private readonly width: number;
  private readonly hosts: HostState[] = [];

  constructor(private readonly names: readonly string[]) {
    this.width = names.length + 1;
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

  /** Where in a row the place for a number is that others work out. */
  get worthAt(): number {
    return this.width - 1;
  }

  private read({ free }: HostState, row: number): void {
    if (row + this.width > this.values.length) {
      const longer = new Float64Array(Math.max(2 * this.values.length, row + this.width));
      longer.set(this.values);
      this.values = longer;
    }
    const { names, values } = this;
    for (const [i, name] of names.entries()) values[row + i] = Math.max(0, free[name] ?? 0);
    values[row + this.worthAt] = Number.NaN;
  }
}
