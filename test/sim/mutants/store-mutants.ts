import { MemoryQueue } from '#libs/bus/memory/queue';
import * as allocations from '#libs/placement/commands/allocations';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { MemoryTables } from '#libs/placement/memory/tables';
import { VersionedRows } from '#libs/placement/mirror/versioned-rows';
import { type Mutant, mutant } from './mutant';

export const STORE_MUTANTS: readonly Mutant[] = [
  mutant('no-redelivery', 'giving out again what was not settled', MemoryQueue.prototype, 'takeBack', () => () => {}),
  mutant('capacity-not-checked', 'checking capacity in the commit', allocations, 'decideAllocations', (original) => {
    return (state, writes, terms) => original(state, writes, { ...terms, force: true });
  }),
  mutant('groups-not-checked', 'checking the policy of a group in the commit', MemoryTables.prototype, 'count', () => {
    return () => 0;
  }),
  mutant('old-rows-win', 'the revisions of rows in mirrors', VersionedRows.prototype, 'set', (original) => {
    return function set(this: VersionedRows<unknown>, key, row) {
      this.amend(key, row);
      return original.call(this, key, row, -1);
    };
  }),
  mutant('changes-are-skipped', 'following from the snapshot', MemoryPlacementStore.prototype, 'follow', (original) => {
    return async function follow(this: MemoryPlacementStore, _revision, onChanges, signal) {
      return original.call(this, await this.revision(), onChanges, signal);
    };
  }),
];
