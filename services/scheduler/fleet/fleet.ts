import TinyQueue from 'tinyqueue';
import type { Allocations } from '#libs/domain/consumer';
import { tenantsOf } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { FleetSnapshot } from './fleet-snapshot';
import { divide, type HostDomains } from './host-domains';
import { type HostState, isSameList } from './host-state';
import { type PendingClaim, PendingClaims } from './pending-claims';
import { PersistentVector } from './persistent-vector';
import { NO_QUARANTINES, type QuarantineOptions, type Quarantines, quarantinesOf } from './quarantine';
import { type HostReading, type HostSources, type ReadOptions, readHost } from './read-host';
import { SharingHosts } from './sharing-hosts';
import { UnreportedClaims } from './unreported-claims';

/**
 * The hosts of the mirror in the form in which decisions are made. It follows the mirror lazily: a change marks a host,
 * and the next snapshot reads it. Claims on their way to the store count in every snapshot until they are answered.
 */
export class Fleet {
  readonly pending = new PendingClaims();
  private newest = new FleetSnapshot(PersistentVector.of<HostState>(), 0, new Map());
  private readonly indexByRoot = new Map<string, number>();
  private readonly indexByName = new Map<string, number>();
  private readonly freeIndexes: number[] = [];
  /** Roots of the hosts to be read by the next snapshot. */
  private readonly stale = new Set<string>();
  /** When hosts must be read because time alone changes them; of each host only the earliest time counts. */
  private readonly agenda = new TinyQueue<DueHost>([], (a, b) => a.atMs - b.atMs);
  private readonly dueAtMs = new Map<string, number>();
  private readonly sources: HostSources;
  private readonly quarantine: QuarantineOptions;
  /** Hosts with failures, by root. */
  private readonly failing = new Map<string, Host>();
  private judged: Quarantines = NO_QUARANTINES;
  private readonly sharing = new SharingHosts();
  /** Projects that host aggregates are for. */
  private tenants: ReadonlySet<string> | undefined;
  /** Hosts by their domains, as long as no host comes, goes or changes its aggregates. */
  private readonly divided = new Map<string, HostDomains>();
  private sortedNames: readonly string[] | undefined;
  private readonly stopFollowing: () => void;
  private recorder: FleetRecorder | undefined;

  /** `places`: those of another fleet that shows the same, for hosts to have the same here. */
  constructor(
    readonly view: PlacementView,
    options: ReadOptions,
    { roots, free, due }: FleetPlaces = NO_PLACES,
  ) {
    this.freeIndexes.push(...free, ...roots.map(([, index]) => index).toReversed());
    for (const [root] of roots) this.stale.add(root);
    for (const [root, atMs] of due) this.due(root, atMs);
    const unreported = new UnreportedClaims(view);
    this.quarantine = options;
    this.sources = { view, pending: this.pending, unreported, options, quarantines: () => this.judged };
    const markAll = () => {
      this.tenants = undefined;
      unreported.readAll();
      for (const root of this.indexByRoot.keys()) this.stale.add(root);
      for (const host of view.hosts()) this.stale.add(host.providerUuid);
    };
    markAll();
    this.stopFollowing = view.onChange((changed) => {
      if (changed === 'all') return markAll();
      for (const root of changed.roots) {
        this.stale.add(root);
        for (const other of this.sharing.affectedBy(view, root)) this.stale.add(other);
      }
      for (const uuid of changed.consumers) unreported.read(uuid);
      if (changed.aggregates.size > 0) this.tenants = undefined;
    });
  }

  close(): void {
    this.stopFollowing();
  }

  /**
   * Tells a recorder from now on when hosts are read and which claims count. Hosts that time alone changes are read now, so that a
   * fleet of the same rows and places, in which all are read now, is this one.
   */
  recordBy(recorder: FleetRecorder, nowMs: number): FleetPlaces {
    for (const root of this.dueAtMs.keys()) this.stale.add(root);
    this.snapshot(nowMs);
    this.recorder = recorder;
    return this.places();
  }

  places(): FleetPlaces {
    const roots = [...this.indexByRoot].toSorted(([, a], [, b]) => a - b);
    return { roots, free: [...this.freeIndexes], due: [...this.dueAtMs] };
  }

  /** The fleet as the mirror shows it now, claims on their way counted as made. */
  snapshot(nowMs: number): FleetSnapshot {
    this.markDue(nowMs);
    if (this.stale.size === 0) return this.newest;
    this.recorder?.read(nowMs);
    this.judgeFailing();
    const changes: Changes = new Map();
    for (const root of this.stale) this.read(root, nowMs, changes);
    this.stale.clear();
    if (changes.size === 0) return this.newest;
    const sharedUsers = this.sharing.byIndex((root) => this.indexByRoot.get(root));
    this.newest = new FleetSnapshot(this.newest.hosts.with(changes), this.indexByRoot.size, sharedUsers);
    return this.newest;
  }

  /** Hosts in quarantine, and hosts spared because too many would be. */
  quarantines(nowMs: number): Quarantines {
    this.snapshot(nowMs);
    return this.judged;
  }

  /** The host at a place of the newest snapshot. */
  newestAt(index: number | undefined): HostState | undefined {
    return this.newest.at(index);
  }

  /** The place of a host in the newest snapshot. */
  indexOfHost(name: string): number | undefined {
    return this.indexByName.get(name);
  }

  /** The place of the host on which a consumer holds allocations. */
  indexOfConsumer(uuid: string): number | undefined {
    const consumer = this.view.consumer(uuid);
    return consumer && this.indexOfAllocations(consumer.allocations);
  }

  indexOfAllocations(allocations: Allocations): number | undefined {
    for (const providerUuid in allocations) {
      const index = this.indexByRoot.get(this.view.provider(providerUuid)?.rootUuid ?? '');
      if (index !== undefined) return index;
    }
    return undefined;
  }

  /** True if a host aggregate belongs to this project. */
  isTenant(projectId: string): boolean {
    this.tenants ??= new Set(tenantsOf([...this.view.aggregates()]));
    return this.tenants.has(projectId);
  }

  /** The hosts of the newest snapshot by their domains under a name in the metadata of aggregates, or under nested ones. */
  domains(...levels: readonly string[]): HostDomains {
    const by = levels.length === 1 ? (levels[0] as string) : JSON.stringify(levels);
    const known = this.divided.get(by);
    if (known) return known;
    const hosts: HostState[] = [];
    this.newest.hosts.forEach((_, host) => hosts.push(host));
    if (this.divided.size >= MAX_DIVIDED) this.divided.clear();
    const made = divide(hosts, levels);
    this.divided.set(by, made);
    return made;
  }

  /** Names of all hosts, sorted. */
  names(nowMs: number): readonly string[] {
    this.snapshot(nowMs);
    this.sortedNames ??= [...this.indexByName.keys()].sort();
    return this.sortedNames;
  }

  /** Counts claims in every snapshot from now on. `assumed` is the newest snapshot with them, where it is known. */
  hold(claims: readonly PendingClaim[], assumed = claims.reduce((one, claim) => one.assume(claim), this.newest)): void {
    for (const claim of claims) this.pending.add(claim);
    this.newest = assumed;
    this.recorder?.held(claims, true);
  }

  /** Counts claims whenever their hosts are read from now on. */
  count(claims: readonly PendingClaim[]): void {
    for (const claim of claims) this.pending.add(claim);
    this.recorder?.held(claims, false);
  }

  /** The claims were answered, whatever the answer: from now on the mirror says whether they count. */
  settle(claims: readonly PendingClaim[]): void {
    this.recorder?.settled(claims);
    for (const claim of claims) {
      this.pending.remove(claim);
      this.stale.add(claim.rootUuid);
      for (const uuid in claim.allocations) for (const root of this.sharing.usersOf(uuid)) this.stale.add(root);
    }
  }

  /** Quarantine depends on all failing hosts: a host that enters or leaves it is read again. */
  private judgeFailing(): void {
    for (const root of this.stale) {
      const host = this.view.hostOfRoot(root);
      if (host && host.failuresInARow > 0) this.failing.set(root, host);
      else this.failing.delete(root);
    }
    if (this.failing.size === 0 && this.judged.untilMs.size === 0) return;
    const before = this.judged;
    const hostCount = Math.max(this.indexByRoot.size, this.stale.size);
    this.judged = quarantinesOf(this.failing.values(), hostCount, this.quarantine);
    for (const name of new Set([...before.untilMs.keys(), ...this.judged.untilMs.keys()])) {
      if (before.untilMs.get(name) === this.judged.untilMs.get(name)) continue;
      const root = this.view.host(name)?.providerUuid;
      if (root !== undefined) this.stale.add(root);
    }
  }

  private markDue(nowMs: number): void {
    for (let due = this.agenda.peek(); due && due.atMs <= nowMs; due = this.agenda.peek()) {
      this.agenda.pop();
      if (this.dueAtMs.get(due.rootUuid) !== due.atMs) continue;
      this.dueAtMs.delete(due.rootUuid);
      this.stale.add(due.rootUuid);
    }
  }

  private read(rootUuid: string, nowMs: number, changes: Changes): void {
    const host = this.view.hostOfRoot(rootUuid);
    const known = this.indexByRoot.get(rootUuid);
    const before = known === undefined ? undefined : this.stateAt(known, changes);
    const index = known ?? this.freeIndexes.at(-1) ?? this.indexByRoot.size;
    const reading = host && readHost(host, { index, nowMs, before }, this.sources);
    if (!reading) {
      if (known !== undefined) this.remove(rootUuid, known, changes);
      return;
    }
    if (known === undefined) this.admit(rootUuid, reading.state, changes);
    if (reading.state !== before) changes.set(index, reading.state);
    if (!isSameList(before?.aggregates ?? [], reading.state.aggregates)) this.divided.clear();
    this.sharing.set(rootUuid, reading.state.providers?.sharing ?? []);
    this.note(rootUuid, reading);
  }

  private stateAt(index: number, changes: Changes): HostState | undefined {
    return changes.has(index) ? changes.get(index) : this.newest.at(index);
  }

  private note(rootUuid: string, { readAgainAtMs }: HostReading): void {
    if (readAgainAtMs === undefined || readAgainAtMs >= (this.dueAtMs.get(rootUuid) ?? Number.POSITIVE_INFINITY))
      return;
    this.due(rootUuid, readAgainAtMs);
  }

  private due(rootUuid: string, atMs: number): void {
    this.dueAtMs.set(rootUuid, atMs);
    this.agenda.push({ rootUuid, atMs });
  }

  private admit(rootUuid: string, { index, host }: HostState, changes: Changes): void {
    if (this.freeIndexes.at(-1) === index) this.freeIndexes.pop();
    this.indexByRoot.set(rootUuid, index);
    this.divided.clear();
    // The same host with another root: its agent was set up anew.
    const replaced = this.indexByName.get(host.name);
    const replacedRoot = replaced === undefined ? undefined : this.stateAt(replaced, changes)?.root.uuid;
    this.indexByName.set(host.name, index);
    if (replaced !== undefined && replacedRoot !== undefined) this.remove(replacedRoot, replaced, changes);
    this.sortedNames = undefined;
  }

  private remove(rootUuid: string, index: number, changes: Changes): void {
    const name = this.stateAt(index, changes)?.host.name;
    if (name !== undefined && this.indexByName.get(name) === index) this.indexByName.delete(name);
    this.indexByRoot.delete(rootUuid);
    changes.set(index, undefined);
    this.divided.clear();
    this.sharing.set(rootUuid, []);
    this.freeIndexes.push(index);
    this.sortedNames = undefined;
  }
}

/** The places of hosts by their roots, in order, and the places of hosts that are gone, the one to be taken next last. */
export interface FleetPlaces {
  readonly roots: readonly (readonly [rootUuid: string, index: number])[];
  readonly free: readonly number[];
  /** When hosts are read again by time alone: an earlier reading of them may have said so. */
  readonly due: readonly (readonly [rootUuid: string, atMs: number])[];
}

const NO_PLACES: FleetPlaces = { roots: [], free: [], due: [] };

/** Inputs of a fleet besides the rows that it shows. */
export interface FleetRecorder {
  /** Hosts are read as of a time. */
  read(nowMs: number): void;
  held(claims: readonly PendingClaim[], isAssumed: boolean): void;
  settled(claims: readonly PendingClaim[]): void;
}

/** Names by which hosts are kept divided, at some 40 bytes a host each: clients choose them. */
const MAX_DIVIDED = 8;

/** Changes from the newest snapshot to the next, by index; undefined for a host that is gone. */
type Changes = Map<number, HostState | undefined>;

interface DueHost {
  readonly rootUuid: string;
  readonly atMs: number;
}
