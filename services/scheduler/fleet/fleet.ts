import type { Allocations } from '#libs/domain/consumer';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/view';
import { FlatCandidates } from '../candidates/flat-candidates';
import { Agenda } from './agenda';
import { ChangeOrder } from './change-order';
import { Columns, type Use } from './columns';
import type { HostState } from './host-state';
import { type PendingClaim, PendingClaims } from './pending-claims';
import { type HostReading, type HostSources, type ReadOptions, readHost } from './read-host';
import { SettlingClaims } from './settling-claims';
import { SharedUse } from './shared-use';
import { viewWithPending } from './view-with-pending';

/**
 * The hosts of the mirror in the form in which decisions are made: a state per host, columns of amounts, traits and
 * aggregates, and the order of changes. It follows the mirror lazily: a change marks a host, the next decision reads it.
 *
 * A decision runs without a pause from `refresh` to the last pick, so that what it sees does not move under it.
 */
export class Fleet {
  /** Replaced as a whole when the fleet outgrows them. */
  columns = new Columns(SMALLEST);
  changes = new ChangeOrder(SMALLEST);
  readonly pending = new PendingClaims();
  readonly flatCandidates = new FlatCandidates();
  /** The mirror, with pending claims counted as used. */
  readonly viewWithPending: PlacementView;
  private states: (HostState | undefined)[] = [];
  private readonly indexByRoot = new Map<string, number>();
  private readonly indexByName = new Map<string, number>();
  private readonly freeIndexes: number[] = [];
  private readonly stale = new Set<string>();
  private readonly agenda = new Agenda();
  private readonly settling: SettlingClaims;
  private readonly sources: HostSources;
  private readonly use: Use;
  private readonly shared = new SharedUse();
  private sortedNames: readonly string[] | undefined;
  private nowMs = 0;
  private readonly stopFollowing: () => void;

  constructor(
    readonly view: PlacementView,
    options: ReadOptions,
  ) {
    this.viewWithPending = viewWithPending(view, this.pending);
    this.settling = new SettlingClaims(view);
    this.sources = { view, pending: this.pending, settling: this.settling, options };
    this.use = { made: (uuid) => view.usage(uuid), pending: (uuid) => this.pending.usedOn(uuid) };
    this.markAll();
    this.stopFollowing = view.onChange((changed) => {
      if (changed === 'all') return this.markAll();
      for (const root of changed.roots) this.markTree(root);
      for (const uuid of changed.consumers) this.settling.read(uuid);
    });
  }

  close(): void {
    this.stopFollowing();
  }

  /** Reads what changed, and what time alone has changed. */
  refresh(nowMs: number): void {
    this.nowMs = nowMs;
    for (const root of this.agenda.takeDue(nowMs)) this.stale.add(root);
    // Growing marks hosts anew, so until none is left.
    while (this.stale.size > 0) {
      const roots = [...this.stale];
      this.stale.clear();
      for (const root of roots) this.read(root);
    }
  }

  get hostCount(): number {
    return this.indexByRoot.size;
  }

  /** One more than the highest index in use. */
  get indexCount(): number {
    return this.states.length;
  }

  at(index: number): HostState | undefined {
    return this.states[index];
  }

  byName(name: string): HostState | undefined {
    const index = this.indexByName.get(name);
    return index === undefined ? undefined : this.states[index];
  }

  /** The host on which a consumer holds allocations. */
  hostOfConsumer(uuid: string): HostState | undefined {
    const consumer = this.view.consumer(uuid);
    return consumer && this.hostOfAllocations(consumer.allocations);
  }

  hostOfAllocations(allocations: Allocations): HostState | undefined {
    for (const providerUuid in allocations) {
      const index = this.indexByRoot.get(this.view.provider(providerUuid)?.rootUuid ?? '');
      if (index !== undefined) return this.states[index];
    }
    return undefined;
  }

  /** Names of all hosts, sorted. */
  names(): readonly string[] {
    this.sortedNames ??= [...this.indexByName.keys()].sort();
    return this.sortedNames;
  }

  /** Counts a claim from now on, until it is answered. The fleet is fresh: of a flat host nothing else has changed. */
  hold(claim: PendingClaim): void {
    this.pending.add(claim);
    const index = this.indexByRoot.get(claim.rootUuid);
    const state = index === undefined ? undefined : this.states[index];
    if (state?.isFlat) this.countOneMore(state);
    else this.stale.add(claim.rootUuid);
    this.markUsers(claim);
    this.refresh(this.nowMs);
  }

  /** The claims were answered, whatever the answer. */
  settle(claims: readonly PendingClaim[]): void {
    for (const claim of claims) {
      this.pending.remove(claim);
      this.stale.add(claim.rootUuid);
      this.markUsers(claim);
    }
  }

  private countOneMore(state: HostState): void {
    const { index, root, instances, buildsInProgress } = state;
    this.states[index] = { ...state, instances: instances + 1, buildsInProgress: buildsInProgress + 1 };
    this.writeColumns(index, [root]);
    this.changes.touch(index);
  }

  /** Marks the hosts that share what the claim takes. */
  private markUsers({ allocations }: PendingClaim): void {
    for (const providerUuid in allocations) {
      for (const root of this.shared.usersOf(providerUuid)) this.stale.add(root);
    }
  }

  private markAll(): void {
    this.settling.readAll();
    for (const root of this.indexByRoot.keys()) this.stale.add(root);
    for (const host of this.view.hosts()) this.stale.add(host.providerUuid);
    if (this.stale.size > this.columns.size) this.grow(this.stale.size);
  }

  private markTree(rootUuid: string): void {
    this.stale.add(rootUuid);
    for (const root of this.shared.affectedBy(this.view, rootUuid)) this.stale.add(root);
  }

  private read(rootUuid: string): void {
    const host = this.view.hostOfRoot(rootUuid);
    const known = this.indexByRoot.get(rootUuid);
    const index = known ?? this.freeIndexes.at(-1) ?? this.states.length;
    const reading = host && readHost(host, index, this.nowMs, this.sources);
    if (reading) this.put(rootUuid, reading, known === undefined);
    else if (known !== undefined) this.remove(rootUuid, known);
  }

  private put(rootUuid: string, reading: HostReading, isNew: boolean): void {
    const { state } = reading;
    if (isNew) this.admit(rootUuid, state);
    const before = this.states[state.index];
    this.states[state.index] = state;
    const isNews = this.writeColumns(state.index, reading.providers);
    if (isNews || !before || !isAlike(before, state)) this.changes.touch(state.index);
    this.shared.set(rootUuid, reading.sharing);
    if (reading.readAgainAtMs !== undefined) this.agenda.add(rootUuid, reading.readAgainAtMs);
  }

  private writeColumns(index: number, providers: readonly Provider[]): boolean {
    return this.columns.write(index, providers, this.use);
  }

  private admit(rootUuid: string, { index, host }: HostState): void {
    // The same host with another root: its agent was set up anew.
    const before = this.indexByName.get(host.name);
    const replaced = before === undefined ? undefined : this.states[before];
    if (index === this.states.length) this.states.push(undefined);
    else this.freeIndexes.pop();
    if (replaced) this.remove(replaced.root.uuid, replaced.index);
    if (index >= this.columns.size) this.grow(index + 1);
    this.indexByRoot.set(rootUuid, index);
    this.indexByName.set(host.name, index);
    this.sortedNames = undefined;
  }

  private remove(rootUuid: string, index: number): void {
    const name = this.states[index]?.host.name;
    if (name !== undefined && this.indexByName.get(name) === index) this.indexByName.delete(name);
    this.indexByRoot.delete(rootUuid);
    this.states[index] = undefined;
    this.columns.clear(index);
    this.changes.touch(index);
    this.shared.set(rootUuid, []);
    this.freeIndexes.push(index);
    this.sortedNames = undefined;
  }

  private grow(hostCount: number): void {
    const size = 2 ** Math.ceil(Math.log2(hostCount));
    this.columns = new Columns(size);
    this.changes = new ChangeOrder(size);
    for (const root of this.indexByRoot.keys()) this.stale.add(root);
  }
}

/**
 * Whether a decision sees no difference, if the columns say the same, too: most often a claim that counted as pending and
 * is made now. Of a tree it may always see one: the search looks at each provider.
 */
function isAlike(a: HostState, b: HostState): boolean {
  return (
    a.isFlat &&
    b.isFlat &&
    a.host === b.host &&
    a.instances === b.instances &&
    a.buildsInProgress === b.buildsInProgress &&
    a.recentFailures === b.recentFailures
  );
}

/** Room for hosts at first; a power of two, as every size after it. */
const SMALLEST = 1024;
