import { describePlacementStore } from '../../testing/placement/placement-store-contract';
import { MemoryPlacementStore } from './placement-store';

describePlacementStore('memory', async () => {
  const store = new MemoryPlacementStore();
  return { store, another: async () => store, close: () => store.close() };
});
