import { randomUUID } from 'node:crypto';
import { assert, asyncProperty, infiniteStream, nat } from 'fast-check';
import { BerthError } from '../../domain/errors';
import { seededRandom } from '../../domain/random';
import { silentLog } from '../../runtime/log';
import { fakeClock } from '../../testing/fake-clock';
import {
  AT_MS,
  aProvider,
  aReport,
  aWrite,
  claim,
  commit,
  contentsOf,
  mustCommit,
  mustReport,
} from '../../testing/placement/placement';
import { overCommitted, violationsOf } from '../../testing/placement/placement-invariants';
import { type Action, actionSequences, run } from '../../testing/placement/placement-random';
import { contentsOfMirror } from '../../testing/placement/placement-store-stream';
import { MemoryPlacementStore } from '../memory/placement-store';
import type { Change } from '../port/placement-store';
import { Mirror } from './mirror';
import { MirrorState } from './mirror-state';

const clock = fakeClock();
const surroundings = { clock, random: seededRandom(1), log: silentLog };
const openMirror = (store: MemoryPlacementStore) => Mirror.open(store, surroundings);

function contentsOfState(state: MirrorState) {
  const sorted = <T>(rows: Iterable<T>, key: (row: T) => string) =>
    [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const providers = sorted(state.providers.values(), (row) => row.uuid);
  return {
    providers,
    used: providers.map((provider) => state.usages.get(provider.uuid)?.used ?? {}),
    hosts: sorted(state.hosts.values(), (row) => row.name),
    consumers: sorted(state.consumers.values(), (row) => row.uuid),
    names: providers.map((provider) => state.providers.newestOf(state.byName.get(provider.name))?.uuid),
    children: providers.map((provider) => [...state.children.get(provider.uuid)].sort()),
    holders: providers.map((provider) => [...state.byProvider.get(provider.uuid)].sort()),
    classes: ['VCPU', 'CUSTOM_GOLD'].map((name) => [...state.byClass.get(name)].sort()),
    traits: ['HW_CPU_X86_AVX', 'CUSTOM_FAST'].map((name) => [...state.byTrait.get(name)].sort()),
    groups: ['g1', 'g2'].map((id) => [...state.byGroup.get(id)].sort()),
    hostsOfRoots: providers.map((provider) => state.hosts.newestOf(state.hostsByRoot.get(provider.uuid))?.name),
    resourceClasses: sorted(state.resourceClasses.values(), (row) => row.name),
    aggregates: sorted(state.aggregates.values(), (row) => row.uuid),
    hostsByAggregate: [...state.aggregates.keys()].sort().map((uuid) => [...state.hostsByAggregate.get(uuid)].sort()),
    serverGroups: sorted(state.serverGroups.values(), (row) => row.projectId + row.name),
  };
}

async function changesOf(commands: readonly Action[]): Promise<Change[]> {
  const store = new MemoryPlacementStore();
  const changes: Change[] = [];
  for (const command of commands) {
    const result = await run(store, command);
    if (result.kind === 'committed') changes.push(result.change);
  }
  return changes;
}

it('reaches the same state whichever changes arrive ahead of the stream, in any order and repeatedly', async () => {
  await assert(
    asyncProperty(actionSequences(40), infiniteStream(nat()), async (commands, choices) => {
      const changes = await changesOf(commands);
      const [inOrder, disturbed] = [new MirrorState(), new MirrorState()];
      for (const state of [inOrder, disturbed]) state.reached(AT_MS - 1);
      for (const change of changes) inOrder.advance(change);
      for (const change of changes) {
        for (let i = 0; i < 2; i++) {
          const other = changes[(choices.next().value ?? 0) % changes.length];
          if (other) disturbed.apply(other);
        }
        disturbed.advance(change);
      }
      expect(contentsOfState(disturbed)).toEqual(contentsOfState(inOrder));
    }),
    { numRuns: 200 },
  );
});

it('reaches the same state from a snapshot that was read during writes', async () => {
  await assert(
    asyncProperty(actionSequences(40), nat(), async (commands, at) => {
      const store = new MemoryPlacementStore();
      const changes: Change[] = [];
      const runAll = async (some: typeof commands) => {
        for (const command of some) {
          const result = await run(store, command);
          if (result.kind === 'committed') changes.push(result.change);
        }
      };
      const begins = at % commands.length;
      const ends = begins + ((at >> 8) % (commands.length - begins));
      await runAll(commands.slice(0, begins));
      const from = await store.revision();
      const state = new MirrorState();
      await store.snapshot((rows) => state.applyRows({ consumers: rows.consumers ?? [], hosts: rows.hosts ?? [] }));
      await runAll(commands.slice(begins, ends));
      await store.snapshot((rows) => state.applyRows(rows));
      state.reached(from);
      await runAll(commands.slice(ends));
      for (const change of changes) state.advance(change);
      const inOrder = new MirrorState();
      inOrder.reached(AT_MS - 1);
      for (const change of changes) inOrder.advance(change);
      expect(contentsOfState(state)).toEqual(contentsOfState(inOrder));
    }),
    { numRuns: 200 },
  );
});

it('keeps the invariants of the store through any commands', async () => {
  await assert(
    asyncProperty(actionSequences(60), async (commands) => {
      const store = new MemoryPlacementStore();
      for (const command of commands) {
        const before = overCommitted(await contentsOf(store));
        await run(store, command);
        const contents = await contentsOf(store);
        expect(violationsOf(contents)).toEqual([]);
        if (!('kind' in command) || command.kind !== 'write_allocations' || command.force) continue;
        for (const [where, excess] of overCommitted(contents)) {
          expect(excess).toBeLessThanOrEqual(before.get(where) ?? 0);
        }
      }
    }),
    { numRuns: 100 },
  );
});

it('notifies listeners of the roots of changed trees and of changed consumers', async () => {
  const store = new MemoryPlacementStore();
  const root = await aProvider(store);
  const child = await aProvider(store, undefined, root);
  const mirror = await openMirror(store);
  const heard: unknown[] = [];
  const stop = mirror.onChange((changed) => heard.push(changed));
  const write = aWrite({ [child]: { VCPU: 1 } });
  const result = await claim(store, write);
  if (result.kind === 'committed') mirror.apply(result.change);
  expect(heard).toEqual([{ roots: new Set([root]), consumers: new Set([write.uuid]), aggregates: new Set() }]);
  stop();
  await mirror.close();
});

it('notifies listeners of the hosts of an aggregate that changes, and shows who is in it', async () => {
  const store = new MemoryPlacementStore();
  const { providerUuid, host } = aReport();
  await mustReport(store, aReport());
  const mirror = await openMirror(store);
  const heard: unknown[] = [];
  mirror.onChange((changed) => heard.push(changed));
  const uuid = randomUUID();
  mirror.apply(await mustCommit(store, { kind: 'create_aggregate', uuid, name: 'east', metadata: {} }));
  mirror.apply(await mustCommit(store, { kind: 'add_aggregate_host', uuid, host }));
  expect([...mirror.hostsIn(uuid)]).toEqual([host]);
  const change = { kind: 'update_aggregate', uuid, name: undefined, set: { rack: '7' }, unset: [] } as const;
  mirror.apply(await mustCommit(store, change));
  expect(heard.at(-1)).toMatchObject({ roots: new Set([providerUuid]), aggregates: new Set([uuid]) });
  expect(mirror.aggregate(uuid)?.metadata).toEqual({ rack: '7' });
  await mirror.close();
});

it('shows the usage that a refused claim brings', async () => {
  const store = new MemoryPlacementStore();
  const host = await aProvider(store);
  const mirror = await openMirror(store);
  await claim(store, aWrite({ [host]: { VCPU: 10 } }));
  const refused = await claim(store, aWrite({ [host]: { VCPU: 1 } }));
  if (refused.kind !== 'capacity') throw new Error('not refused');
  mirror.applyRows({ usages: [refused.usage] });
  expect(mirror.usage(host)).toEqual({ VCPU: 10 });
  await mirror.close();
});

/** A memory store that can be taken away and brought back. */
class FlakyStore extends MemoryPlacementStore {
  away = new AbortController();
  beforeSnapshot = () => {};

  override async snapshot(onRows: Parameters<MemoryPlacementStore['snapshot']>[0]): Promise<number> {
    this.beforeSnapshot();
    if (this.away.signal.aborted) throw new BerthError('unavailable', 'store_away', 'the store is away');
    return super.snapshot(onRows);
  }

  override async follow(...[revision, onChanges, signal]: Parameters<MemoryPlacementStore['follow']>): Promise<void> {
    await super.follow(revision, onChanges, AbortSignal.any([signal, this.away.signal]));
    if (!signal.aborted) throw new BerthError('unavailable', 'store_away', 'the store is away');
  }
}

it('shows its last state while the store is away, and takes a new snapshot when it is back', async () => {
  const store = new FlakyStore();
  const host = await aProvider(store);
  const mirror = await openMirror(store);
  store.away.abort();
  await clock.advance(0);
  await claim(store, aWrite({ [host]: { VCPU: 2 } }));
  await clock.advance(10_000);
  expect(mirror.readiness()).toEqual({ ready: false, reason: 'mirror: the store is away' });
  expect(mirror.usage(host)).toEqual({});
  const heard: unknown[] = [];
  mirror.onChange((changed) => heard.push(changed));
  store.away = new AbortController();
  await clock.advance(10_000);
  expect(heard).toEqual(['all']);
  expect(mirror.readiness()).toEqual({ ready: true });
  expect(mirror.usage(host)).toEqual({ VCPU: 2 });
  await mirror.close();
});

it('does not show a claim that the store has lost, though it was applied while the snapshot was loaded', async () => {
  const [store, before] = [new FlakyStore(), new MemoryPlacementStore()];
  await aProvider(store);
  const lost = await claim(before, aWrite({ [await aProvider(before)]: { VCPU: 2 } }));
  if (lost.kind !== 'committed') throw new Error('not committed');
  const mirror = await openMirror(store);
  store.away.abort();
  await clock.advance(0);
  store.away = new AbortController();
  store.beforeSnapshot = () => mirror.apply(lost.change);
  await clock.advance(10_000);
  expect(mirror.readiness()).toEqual({ ready: true });
  expect([...mirror.consumers()]).toEqual([]);
  await mirror.close();
});

it('takes a new snapshot when the stream was trimmed under it', async () => {
  const store = new MemoryPlacementStore(10);
  const host = await aProvider(store);
  const mirror = await openMirror(store);
  for (let n = 0; n < 50; n++) {
    await commit(store, { kind: 'write_traits', providerUuid: host, generation: undefined, traits: [`T_${n}`] });
  }
  await clock.advance(1_000);
  expect(mirror.provider(host)?.traits).toEqual(['T_49']);
  expect(contentsOfMirror(mirror).providers).toHaveLength(1);
  await mirror.close();
});

it.each(['before', 'meanwhile'])('stops waiting for a store that is away when its signal aborts (%s)', async (when) => {
  const store = new FlakyStore();
  store.away.abort();
  const abort = new AbortController();
  if (when === 'before') abort.abort();
  const opened = Mirror.open(store, { ...surroundings, signal: abort.signal });
  abort.abort();
  await expect(opened).rejects.toMatchObject({ code: 'aborted', reason: 'cancelled' });
});
