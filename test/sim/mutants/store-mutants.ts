import { MemoryQueue } from '#libs/bus/memory/queue';
import * as store from '#libs/instances/memory/instance-store';
import * as outbox from '#libs/instances/memory/outbox';
import * as allocations from '#libs/placement/commands/allocations';
import { isEmpty } from '#libs/placement/commands/claims/draft';
import type { ClaimView } from '#libs/placement/commands/claims/view';
import * as merging from '#libs/placement/commands/reports/merge-report';
import * as reporting from '#libs/placement/commands/reports/report-host';
import * as nesting from '#libs/placement/commands/reports/report-nested';
import * as holders from '#libs/placement/memory/holders';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { MemoryTables } from '#libs/placement/memory/tables';
import { VersionedRows } from '#libs/placement/mirror/versioned-rows';
import type { ConsumerWrite } from '#libs/placement/port/placement-store';
import { type Mutant, mutant, mutants, withFocus } from './mutant';

export const STORE_MUTANTS: readonly Mutant[] = [
  mutant('no-redelivery', 'giving out again what was not settled', MemoryQueue.prototype, 'takeBack', () => () => {}),
  mutant('capacity-not-checked', 'checking capacity in the commit', allocations, 'decideAllocations', (original) => {
    return (state, writes, terms) => original(state, writes, { ...terms, force: true });
  }),
  mutant('groups-not-checked', 'checking the policy of a group in the commit', MemoryTables.prototype, 'count', () => {
    return () => 0;
  }),
  withFocus(
    mutant(
      'spread-not-checked',
      'checking the spread of a group in the commit',
      allocations,
      'decideAllocations',
      (original) => {
        return (state, writes, terms) => {
          const isOfDomain = (name: string) => name.startsWith('members-in ');
          const count = (name: string, group: string) => (isOfDomain(name) ? 0 : state.count(name, group));
          const view: ClaimView = { get: (table, key) => state.get(table, key), count };
          const proposal = original(view, writes, terms);
          const guards = proposal.guards.filter((guard) => guard.kind !== 'count' || !isOfDomain(guard.name));
          return { ...proposal, guards };
        };
      },
    ),
    'begin a group over racks',
  ),
  mutant('claims-not-guarded', 'the guards of claims', allocations, 'decideAllocations', (original) => {
    return (state, writes, terms) => original(state, writes.map(withoutGuard), terms);
  }),
  mutants(
    'anybody-holds',
    'one live holder of each host',
    mutant('', '', holders, 'acquireHosts', (original) => (present, wanted) => {
      for (const host of wanted.hosts) present.delete(host);
      return original(present, wanted);
    }),
    mutant('', '', reporting, 'reportHost', (original) => (tx, report) => {
      const getStored = tx.getStored.bind(tx);
      tx.getStored = async (table, keys) => {
        const found = await getStored(table, keys);
        return table === 'holder' ? found.map((one) => one && { ...one, revision: report.epoch }) : found;
      };
      return original(tx, report);
    }),
  ),
  mutant('reports-undo-reserved', 'what operators decided of inventories', merging, 'mergeReport', (original) => {
    return (report, provider) => original(report, provider && { ...provider, decided: {} });
  }),
  withFocus(
    mutant('reports-undo-traits', 'whose a trait is', merging, 'mergeReport', (original) => {
      return (report, provider) => ({ ...original(report, provider), traits: report.traits });
    }),
    'client gives a trait',
  ),
  mutant('vanished-is-removed', 'keeping a device in use that is gone', nesting, 'reportNested', (original) => {
    return (tx, report, root) => {
      const getAll = tx.getAll.bind(tx);
      tx.getAll = async (table, keys) => (table === 'usage' ? keys.map(() => undefined) : getAll(table, keys));
      return original(tx, report, root);
    };
  }),
  mutant('nothing-is-forgotten', 'forgetting what has ended', store, 'memoryInstanceStore', (original) => {
    return (...args) => ({ ...original(...args), forget: async () => 0 });
  }),
  withFocus(
    mutant(
      'forgotten-are-built-again',
      'refusing requests whose instances were forgotten',
      store,
      'memoryInstanceStore',
      (original) => {
        return (...args) => {
          const real = original(...args);
          return { ...real, create: (requestId, instances) => real.create(requestId, instances) };
        };
      },
    ),
    'build again',
  ),
  mutant('no-outbox', 'keeping events until they are published', outbox, 'memoryOutbox', (original) => {
    return (clock) => ({ ...original(clock), put: (instance) => [instance] });
  }),
  mutant('old-rows-win', 'the revisions of rows in mirrors', VersionedRows.prototype, 'set', (original) => {
    return function set(this: VersionedRows<unknown>, key, row) {
      this.amend(key, row);
      return original.call(this, key, row, -1);
    };
  }),
  withFocus(
    mutant(
      'changes-are-skipped',
      'following from the snapshot',
      MemoryPlacementStore.prototype,
      'follow',
      (original) => {
        return async function follow(this: MemoryPlacementStore, _revision, onChanges, signal) {
          return original.call(this, await this.revision(), onChanges, signal);
        };
      },
    ),
    'build',
    'terminate',
  ),
];

function withoutGuard(write: ConsumerWrite): ConsumerWrite {
  return isEmpty(write) ? write : { ...write, expect: { kind: 'any' } };
}
