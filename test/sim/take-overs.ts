import type { HostGrant } from '#libs/placement/port/placement-store';
import type { SimulatedProcess } from '#libs/simulation/simulated-process';
import type { Asking } from '#libs/simulation/store-server';
import type { Fleet } from './fleet';
import { agentOf, CLOCK_TOLERANCE_MS, LEASE_MS } from './settings';

/**
 * Which hosts another machine's agent takes over while their holder can not be heard: it stands still, is cut off, or no
 * report of it was accepted for as long as its lease lasts. What runs there by then is lost for all others.
 */
export class TakeOvers {
  /** The process that held a host before another machine's agent wanted it. */
  readonly #holders = new Map<string, SimulatedProcess>();
  readonly #epochs = new Map<string, number>();
  /** When the report was sent that renewed a host's lease last. */
  readonly #renewedAtMs = new Map<string, number>();
  /** When the last report of a host was sent that was accepted. */
  readonly #reportedAtMs = new Map<string, number>();
  readonly #lost = new Set<string>();
  /** Hosts that a conductor has fenced, and that were not heard since. */
  readonly #fenced = new Set<string>();

  constructor(private readonly fleet: Fleet) {}

  /** Whether an instance ran on a host when it was taken over. */
  has(uuid: string, host: string): boolean {
    return this.#lost.has(`${uuid} on ${host}`);
  }

  /** Whether a host's agent was heard so recently that it holds the host. */
  isAlive(host: string): boolean {
    return this.fleet.time.nowMs - (this.#reportedAtMs.get(host) ?? 0) < LEASE_MS - CLOCK_TOLERANCE_MS;
  }

  /** True when a host is dead to the store: a conductor has fenced it, and its agent is not back. */
  isFenced(host: string): boolean {
    return this.#fenced.has(host);
  }

  /** The store goes back: what it heard since is lost. */
  storeGoesBackTo(atMs: number): void {
    for (const [host, reportedAtMs] of this.#reportedAtMs) if (reportedAtMs > atMs) this.#reportedAtMs.delete(host);
  }

  /** Hears of an effect on the stores. */
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
