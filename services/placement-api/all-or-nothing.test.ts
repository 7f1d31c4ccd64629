import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { describeAllOrNothing } from './testing/all-or-nothing';

describe('on the memory store', () => {
  describeAllOrNothing(async () => new MemoryPlacementStore());
});
