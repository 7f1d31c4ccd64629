import type { Allocations } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';

/** A claim that this scheduler decided on and that the store has not answered yet. */
export interface PendingClaim {
  readonly consumerUuid: string;
  /** The host's place in the fleet. */
  readonly hostIndex: number;
  readonly rootUuid: string;
  readonly allocations: Allocations;
  /** The key of its server group. */
  readonly group: string | undefined;
}

/**
 * Claims on their way to the store. They count as taken in every decision made meanwhile, so that the instances of one
 * request, and requests at the same time, spread as if one came after the other.
 */
export class PendingClaims {
  private readonly claims = new Set<PendingClaim>();
  private readonly used = new Map<string, Resources>();
  private readonly perRoot = new Map<string, number>();
  private readonly waiting = new Set<{ readonly left: Set<PendingClaim>; readonly resolve: () => void }>();

  get count(): number {
    return this.claims.size;
  }

  add(claim: PendingClaim): void {
    this.claims.add(claim);
    this.perRoot.set(claim.rootUuid, this.countOn(claim.rootUuid) + 1);
    for (const uuid in claim.allocations) {
      const resources = claim.allocations[uuid] as Resources;
      const others = this.used.get(uuid);
      this.used.set(uuid, others ? addResources(others, resources) : resources);
    }
  }

  /** The claim was answered: it is in the store, or it never will be. */
  remove(claim: PendingClaim): void {
    if (!this.claims.delete(claim)) return;
    this.tellWaiting(claim);
    const rest = this.countOn(claim.rootUuid) - 1;
    if (rest > 0) this.perRoot.set(claim.rootUuid, rest);
    else this.perRoot.delete(claim.rootUuid);
    for (const uuid in claim.allocations) {
      const left = subtract(this.used.get(uuid) ?? {}, claim.allocations[uuid] as Resources);
      if (left) this.used.set(uuid, left);
      else this.used.delete(uuid);
    }
  }

  [Symbol.iterator](): Iterator<PendingClaim> {
    return this.claims.values();
  }

  /** Amounts on their way to a provider, in addition to what the mirror says is used. */
  usedOn(providerUuid: string): Resources | undefined {
    return this.used.get(providerUuid);
  }

  countOn(rootUuid: string): number {
    return this.perRoot.get(rootUuid) ?? 0;
  }

  *inGroup(group: string): Iterable<PendingClaim> {
    for (const claim of this.claims) if (claim.group === group) yield claim;
  }

  /** Resolves when all claims that are on their way now are answered. */
  whenAnswered(): Promise<void> {
    if (this.claims.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.waiting.add({ left: new Set(this.claims), resolve }));
  }

  private tellWaiting(claim: PendingClaim): void {
    for (const waiter of this.waiting) {
      waiter.left.delete(claim);
      if (waiter.left.size > 0) continue;
      this.waiting.delete(waiter);
      waiter.resolve();
    }
  }
}

function subtract(from: Resources, amounts: Resources): Resources | undefined {
  if (from === amounts) return undefined;
  const left: Record<string, number> = {};
  for (const [name, amount] of Object.entries(from)) {
    const rest = amount - (amounts[name] ?? 0);
    if (rest > 0) left[name] = rest;
  }
  return Object.keys(left).length > 0 ? left : undefined;
}
