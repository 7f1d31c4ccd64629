import type { Host } from '#libs/domain/host';
import { addResources, type Resources } from '#libs/domain/inventory';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import type { PlacementView } from '#libs/placement/port/placement-view';

/**
 * The resources that each instance holds on a host, by the instance's uuid. A moving instance holds some on two hosts:
 * on its source by its migration, although its record may name the other.
 */
export function heldOnHost(view: PlacementView, { providerUuid }: Host): ReadonlyMap<string, Resources> {
  const held = new Map<string, Resources>();
  for (const { uuid: provider } of view.tree(providerUuid)) {
    for (const uuid of view.consumersOn(provider)) {
      const consumer = view.consumer(uuid);
      if (consumer === undefined) continue;
      const instance = instanceOfConsumer(consumer);
      held.set(instance, addResources(held.get(instance) ?? {}, consumer.allocations[provider] ?? {}));
    }
  }
  return held;
}
