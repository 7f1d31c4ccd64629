import { FLAGS, type FleetAll, type FleetChange, type FleetHost } from '../../api/fleet';
import { natural } from '../../api/natural-order';

/** The parts to redraw in a frame. */
export interface Redraw {
  /** True when hosts came, left or changed groups. */
  readonly isAll: boolean;
  /** True when conditions of hosts changed, by which a page may filter. */
  readonly areFlags: boolean;
  readonly hosts: readonly string[];
  readonly landed: readonly string[];
  readonly failed: readonly string[];
}

/**
 * The browser's copy of the fleet, by name. Changes are gathered until the next frame. The order is made when hosts come and
 * not for each frame: comparing ten thousand names takes longer than a frame.
 */
export class FleetModel {
  readonly hosts = new Map<string, FleetHost>();
  classes: readonly string[] = [];
  isLoaded = false;
  #pending = nothing();
  #frame = 0;

  constructor(private readonly onFrame: (redraw: Redraw) => void) {}

  replace({ classes, hosts }: FleetAll): void {
    this.#order(hosts);
    this.classes = classes;
    this.isLoaded = true;
    this.#pending.isAll = true;
    this.#schedule();
  }

  apply({ hosts, gone, landed, failed }: FleetChange): void {
    const pending = this.#pending;
    let areNew = false;
    for (const host of hosts) {
      const before = this.hosts.get(host.name);
      this.hosts.set(host.name, host);
      pending.hosts.add(host.name);
      areNew ||= before === undefined;
      if (before?.flags !== host.flags) pending.areFlags = true;
      if (before === undefined || isElsewhere(before, host)) pending.isAll = true;
    }
    for (const name of gone) pending.isAll = this.hosts.delete(name) || pending.isAll;
    if (areNew) this.#order(this.hosts.values());
    for (const name of landed) pending.landed.add(name);
    for (const name of failed) pending.failed.add(name);
    this.#schedule();
  }

  #order(hosts: Iterable<FleetHost>): void {
    const inOrder = [...hosts].sort((a, b) => natural.compare(a.name, b.name));
    this.hosts.clear();
    for (const host of inOrder) this.hosts.set(host.name, host);
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => {
      const { isAll, areFlags, hosts, landed, failed } = this.#pending;
      this.#pending = nothing();
      this.#frame = 0;
      this.onFrame({ isAll, areFlags, hosts: [...hosts], landed: [...landed], failed: [...failed] });
    });
  }
}

function nothing() {
  const names = () => new Set<string>();
  return { isAll: false, areFlags: false, hosts: names(), landed: names(), failed: names() };
}

/** True when a host's place changes: its groups, or what a filter's words find. */
function isElsewhere(before: FleetHost, after: FleetHost): boolean {
  return (
    before.zone !== after.zone ||
    before.rack !== after.rack ||
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
