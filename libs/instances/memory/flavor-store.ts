import type { Clock } from '../../domain/clock';
import type { Flavor } from '../../domain/flavor';
import { type FlavorStore, MAX_FLAVORS } from '../flavor-store';

/** Flavors among the services of one process. */
export function memoryFlavorStore(clock: Pick<Clock, 'now'>, maxFlavors = MAX_FLAVORS): FlavorStore {
  const flavors = new Map<string, Flavor>();
  let version = 0;
  return {
    async getFlavor(name) {
      return flavors.get(name);
    },
    async listFlavors() {
      return [...flavors.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async writeFlavor(flavor, over) {
      const stored = flavors.get(flavor.name);
      if (stored?.version !== over) return { kind: 'other', flavor: stored };
      if (stored === undefined && flavors.size >= maxFlavors) return { kind: 'full' };
      version = Math.max(version + 1, Math.floor(clock.now() / 1_000));
      const written = { ...flavor, version };
      flavors.set(flavor.name, written);
      return { kind: 'written', flavor: written };
    },
    async deleteFlavor(name) {
      const stored = flavors.get(name);
      flavors.delete(name);
      return stored;
    },
  };
}
