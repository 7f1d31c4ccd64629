import type { Host } from '#libs/domain/host';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { FLAGS, type FleetAll, type FleetChange, type FleetHost } from '../api/fleet';
import type { HostCounts } from '../api/stream';
import { classesOf, type HostMarks, readFleetHost } from '../views/read-fleet-host';
import type { Beat } from './pulse';

/**
 * The fleet as pages draw it, read again only where it changed: each host is one row, and all fleet pages share one
 * list of changed rows.
 */
export class FleetFeed {
  #classes: readonly string[] = [];
  #rows = new Map<string, FleetHost>();
  #nameOfRoot = new Map<string, string>();

  constructor(
    private readonly view: PlacementView,
    private readonly marks: HostMarks,
  ) {
    this.#readAll();
  }

  get all(): FleetAll {
    return { classes: this.#classes, hosts: [...this.#rows.values()] };
  }

  get rows(): ReadonlyMap<string, FleetHost> {
    return this.#rows;
  }

  get classes(): readonly string[] {
    return this.#classes;
  }

  counts(): HostCounts {
    const counts = { all: this.#rows.size, down: 0, disabled: 0, draining: 0, doubtful: 0, failing: 0 };
    for (const { flags } of this.#rows.values()) {
      if (flags === 0) continue;
      for (const [name, flag] of Object.entries(FLAGS)) if (flags & flag) counts[name as keyof typeof FLAGS] += 1;
    }
    return counts;
  }

  /**
   * Takes changes, and names of hosts with changed marks; returns the change for pages, or `all` when they must start
   * over.
   */
  take({ roots, events }: Beat, marked: Iterable<string> = []): FleetChange | 'all' | undefined {
    if (roots === 'all') return this.#readAll();
    const names = new Set(marked);
    for (const root of roots) {
      const name = this.view.hostOfRoot(root)?.name ?? this.#nameOfRoot.get(root);
      if (name !== undefined) names.add(name);
    }
    const hosts: FleetHost[] = [];
    const gone: string[] = [];
    for (const name of names) {
      const host = this.view.host(name);
      if (host === undefined) {
        if (this.#rows.delete(name)) gone.push(name);
        continue;
      }
      if (classesOf(this.view, host).some((one) => !this.#classes.includes(one))) return this.#readAll();
      hosts.push(this.#read(host));
    }
    const landed = [...new Set(events.flatMap(({ state, host }) => (state === 'active' && host ? [host] : [])))];
    const failed = [...new Set(events.flatMap(failedHosts))];
    return hosts.length + gone.length + landed.length + failed.length === 0
      ? undefined
      : { hosts, gone, landed, failed };
  }

  #readAll(): 'all' {
    const hosts = [...this.view.hosts()].sort((a, b) => compare(a.name, b.name));
    this.#classes = [...new Set(hosts.flatMap((host) => classesOf(this.view, host)))].sort(byCommonness);
    this.#rows = new Map();
    this.#nameOfRoot = new Map();
    for (const host of hosts) this.#read(host);
    return 'all';
  }

  #read(host: Host): FleetHost {
    const row = readFleetHost(this.view, host, this.#classes, this.marks);
    this.#rows.set(host.name, row);
    this.#nameOfRoot.set(host.providerUuid, host.name);
    return row;
  }
}

/** The host of a newly failed attempt. */
function failedHosts({ attempts, state }: { attempts: readonly { host: string; outcome: string }[]; state: string }) {
  const isTried = state === 'building' || state === 'error';
  const failed = attempts.findLast(({ outcome }) => FAILED.includes(outcome));
  return isTried && failed !== undefined ? [failed.host] : [];
}

const FAILED: readonly string[] = ['failed', 'refused', 'timed_out'];
const COMMON: readonly string[] = ['VCPU', 'MEMORY_MB', 'DISK_GB'];

/** Processors, memory and disk first, the rest by name. */
function byCommonness(a: string, b: string): number {
  const place = (name: string) => (COMMON.indexOf(name) + COMMON.length + 1) % (COMMON.length + 1);
  return place(a) - place(b) || compare(a, b);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
