import { FLAGS, type FleetAll, type FleetChange, type FleetHost } from '../../api/fleet';

/** The parts to redraw in a frame. */
export interface Redraw {
  /** True when hosts came, left or changed groups. */
  readonly isAll: boolean;
  readonly hosts: readonly string[];
  readonly landed: readonly string[];
  readonly failed: readonly string[];
}

/** The browser's copy of the fleet. Changes are gathered until the next frame. */
export class FleetModel {
  readonly hosts = new Map<string, FleetHost>();
  classes: readonly string[] = [];
  isLoaded = false;
  #pending = { isAll: false, hosts: new Set<string>(), landed: new Set<string>(), failed: new Set<string>() };
  #frame = 0;

  constructor(private readonly onFrame: (redraw: Redraw) => void) {}

  replace({ classes, hosts }: FleetAll): void {
    this.hosts.clear();
    for (const host of hosts) this.hosts.set(host.name, host);
    this.classes = classes;
    this.isLoaded = true;
    this.#pending.isAll = true;
    this.#schedule();
  }

  apply({ hosts, gone, landed, failed }: FleetChange): void {
    const pending = this.#pending;
    for (const host of hosts) {
      const before = this.hosts.get(host.name);
      this.hosts.set(host.name, host);
      pending.hosts.add(host.name);
      if (before === undefined || isElsewhere(before, host)) pending.isAll = true;
    }
    for (const name of gone) pending.isAll = this.hosts.delete(name) || pending.isAll;
    for (const name of landed) pending.landed.add(name);
    for (const name of failed) pending.failed.add(name);
    this.#schedule();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => {
      const { isAll, hosts, landed, failed } = this.#pending;
      this.#pending = { isAll: false, hosts: new Set(), landed: new Set(), failed: new Set() };
      this.#frame = 0;
      this.onFrame({ isAll, hosts: [...hosts], landed: [...landed], failed: [...failed] });
    });
  }
}

/** True when a host's place changes: its groups, or the filters that it passes. */
function isElsewhere(before: FleetHost, after: FleetHost): boolean {
  return (
    before.zone !== after.zone ||
    before.rack !== after.rack ||
    before.flags !== after.flags ||
    before.aggregates.join() !== after.aggregates.join() ||
    before.capacity.join() !== after.capacity.join()
  );
}

export type Flag = keyof typeof FLAGS;

/** The flags of a host by name, the worst first. */
export function flagsOf({ flags }: FleetHost): Flag[] {
  return WORST_FIRST.filter((name) => flags & FLAGS[name]);
}

export const WORST_FIRST: readonly Flag[] = ['down', 'doubtful', 'failing', 'draining', 'disabled'];

/** Names of the flags. */
export const FLAG_NAMES: Readonly<Record<Flag, string>> = {
  down: 'Down',
  doubtful: 'In doubt',
  failing: 'Failing builds',
  draining: 'Draining',
  disabled: 'Disabled',
};
