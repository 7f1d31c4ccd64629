import type { HostGrant } from '#libs/placement/port/placement-store';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { Asking } from '#libs/simulation/store-server';
import type { Fleet } from './fleet';
import { agentOf, CLOCK_TOLERANCE_MS, LEASE_MS } from './settings';

/**
 * Hosts that another machine's agent takes over while their holder is silent: paused, cut off, or without an accepted report for the length
 * of its lease. Instances that run there by then count as lost.
 */
export class TakeOvers {
  /** The process that held a host before another machine's agent wanted it. */
  readonly #holders = new Map<string, SimulatedProcess>();
  readonly #epochs = new Map<string, number>();
  /** Time of sending of the report that last renewed each host's lease. */
  readonly #renewedAtMs = new Map<string, number>();
  /** Time of sending of each host's last accepted report. */
  readonly #reportedAtMs = new Map<string, number>();
  readonly #lost = new Set<string>();
  /** Hosts that a conductor has fenced and that were silent since. */
  readonly #fenced = new Set<string>();

  constructor(private readonly fleet: Fleet) {}

  /** True if the instance ran on the host when that was taken over. */
  has(uuid: string, host: string): boolean {
    return this.#lost.has(`${uuid} on ${host}`);
  }

  /** True if the host's agent reported so recently that it holds the host. */
  isAlive(host: string): boolean {
    return this.fleet.time.nowMs - (this.#reportedAtMs.get(host) ?? 0) < LEASE_MS - CLOCK_TOLERANCE_MS;
  }

  /** True while a conductor has fenced the host, and its agent is not back. */
  isFenced(host: string): boolean {
    return this.#fenced.has(host);
  }

  /** The store goes back: later reports are lost. */
  storeGoesBackTo(atMs: number): void {
    for (const [host, reportedAtMs] of this.#reportedAtMs) if (reportedAtMs > atMs) this.#reportedAtMs.delete(host);
  }

  /** Takes an effect on the stores. */
  onWrite({ name: by, atMs }: Asking, what: string, result: unknown): void {
    const [name, ...hosts] = what.split(/,? /);
    if (name === 'acquireHosts') {
      for (const [n, grant] of (result as readonly HostGrant[]).entries()) {
        if (grant.kind !== 'granted') continue;
        this.#granted(hosts[n] ?? '', grant.epoch, atMs);
        if (by.startsWith('conductor')) this.#fenced.add(hosts[n] ?? '');
      }
    } else if (name === 'reportHost') {
      const { kind } = result as { readonly kind: string };
      if (kind !== 'committed' && kind !== 'unchanged') return;
      this.#renewedAtMs.set(hosts[0] ?? '', atMs);
      this.#reportedAtMs.set(hosts[0] ?? '', atMs);
      this.#fenced.delete(hosts[0] ?? '');
    }
  }

  #granted(host: string, epoch: number, atMs: number): void {
    const silentForMs = atMs - (this.#renewedAtMs.get(host) ?? 0);
    this.#renewedAtMs.set(host, atMs);
    if (this.#epochs.get(host) === epoch) return;
    this.#epochs.set(host, epoch);
    const agent = agentOf(host);
    const { process, links } = this.fleet.member(agent);
    const isContested = this.fleet.hasClone(agent);
    const isCut = !process.isAlive || process.isPaused || links.some((link) => link.isCut);
    const isHeard = !isCut && silentForMs < LEASE_MS - CLOCK_TOLERANCE_MS;
    if (!isContested) this.#holders.set(host, process);
    else if (!isHeard || this.#holders.get(host) !== process) this.#takeOver(host);
  }

  #takeOver(host: string): void {
    const { running, stopped, building } = this.fleet.machines.get(host) ?? {};
    const all = [running, stopped, building].flatMap((some) => [...(some?.keys() ?? [])]);
    for (const uuid of all) this.#lost.add(`${uuid} on ${host}`);
  }
}
