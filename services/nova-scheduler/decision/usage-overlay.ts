import type { Allocations } from '#libs/domain/consumer';
import { refusalOf } from '#libs/domain/inventory';
import type { ProviderForest } from '#libs/placement/port/placement-view';

/** Amounts that are taken beside those in the mirror: by claims on their way, or by instances placed before in the same decision. */
export class UsageOverlay {
  readonly #amounts = new Map<string, Map<string, number>>();

  /** @param below  another overlay that counts, too */
  constructor(private readonly below?: UsageOverlay) {}

  add(allocations: Allocations, sign: 1 | -1 = 1): void {
    for (const [uuid, resources] of Object.entries(allocations)) {
      const amounts = this.#amounts.get(uuid) ?? new Map<string, number>();
      this.#amounts.set(uuid, amounts);
      for (const [name, amount] of Object.entries(resources)) {
        const left = (amounts.get(name) ?? 0) + sign * amount;
        if (left === 0) amounts.delete(name);
        else amounts.set(name, left);
      }
      if (amounts.size === 0) this.#amounts.delete(uuid);
    }
  }

  get isEmpty(): boolean {
    return this.#amounts.size === 0 && (this.below?.isEmpty ?? true);
  }

  of(providerUuid: string, resourceClass: string): number {
    const own = this.#amounts.get(providerUuid)?.get(resourceClass) ?? 0;
    return own + (this.below?.of(providerUuid, resourceClass) ?? 0);
  }

  /** True when allocations fit beside all that is taken. */
  fits(allocations: Allocations, view: Pick<ProviderForest, 'provider' | 'usage'>): boolean {
    if (this.isEmpty) return true;
    return Object.entries(allocations).every(([uuid, resources]) => {
      const inventories = view.provider(uuid)?.inventories;
      return Object.entries(resources).every(([name, amount]) => {
        const inventory = inventories?.[name];
        if (inventory === undefined) return false;
        const used = (view.usage(uuid)[name] ?? 0) + this.of(uuid, name);
        return refusalOf(inventory, used, amount) === undefined;
      });
    });
  }
}
