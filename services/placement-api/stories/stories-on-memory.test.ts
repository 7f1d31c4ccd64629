import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { describePlacementApi } from './stories';

describePlacementApi('memory', async () => new MemoryPlacementStore());
