import type { Clock } from '#libs/domain/clock';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { InstanceClaim } from '../decision/claim';
import type { UsageOverlay } from '../decision/usage-overlay';

/** A lens copies a claim within seconds; one that does not come was taken back. */
const AWAITED_FOR_MS = 60_000;

/**
 * Claims that placement took and the copy of it does not show yet: they count as on their way, so that the next decision does not take the
 * same again, and their instances count as on their hosts.
 */
export class AwaitedClaims {
  readonly #awaited = new Map<string, { readonly claim: InstanceClaim; readonly cancel: () => void }>();
  readonly #stop: () => void;

  constructor(
    private readonly mirror: Mirror,
    private readonly inFlight: UsageOverlay,
    private readonly clock: Pick<Clock, 'after'>,
  ) {
    this.#stop = mirror.onChange((changed) => {
      for (const uuid of this.#awaited.keys()) if (changed === 'all' || changed.consumers.has(uuid)) this.#look(uuid);
    });
  }

  /** Roots of hosts by instance. */
  get roots(): ReadonlyMap<string, string> {
    return new Map([...this.#awaited].map(([uuid, { claim }]) => [uuid, claim.candidate.rootUuid]));
  }

  add(claim: InstanceClaim): void {
    const { instanceUuid: uuid, candidate } = claim;
    this.#drop(uuid);
    this.inFlight.add(candidate.allocations);
    this.#awaited.set(uuid, { claim, cancel: this.clock.after(AWAITED_FOR_MS, () => this.#drop(uuid)) });
    this.#look(uuid);
  }

  close(): void {
    this.#stop();
    for (const uuid of this.#awaited.keys()) this.#drop(uuid);
  }

  #look(uuid: string): void {
    const { claim } = this.#awaited.get(uuid) ?? {};
    const held = this.mirror.consumer(uuid)?.allocations ?? {};
    if (claim !== undefined && Object.keys(claim.candidate.allocations).every((provider) => provider in held))
      this.#drop(uuid);
  }

  #drop(uuid: string): void {
    const awaited = this.#awaited.get(uuid);
    if (awaited === undefined) return;
    awaited.cancel();
    this.#awaited.delete(uuid);
    this.inFlight.add(awaited.claim.candidate.allocations, -1);
  }
}
