import type { Consumer } from '../../domain/consumer';
import type { Aggregate } from '../../domain/grouping/aggregate';
import type { AdmissionTurn, Guarantee } from '../../domain/grouping/guarantee';
import type { Host } from '../../domain/host';
import type { Provider } from '../../domain/provider';
import type { PlaceLease } from '../../domain/queueing/place-lease';
import type { Reservation } from '../../domain/queueing/reservation';
import { groupKey, type StoredGroup, storedGroupKey } from '../../domain/server-group';
import { NameIndex } from '../index/name-index';
import { SetIndex } from '../index/set-index';
import type { CatalogueName, Change, Revised, Rows, Usage } from '../port/placement-store';
import type { Changed } from '../port/placement-view';
import { ProjectIndex } from './project-index';
import { sharedHost, sharedProvider } from './shared-parts';
import { NOT_NEWER, VersionedRows } from './versioned-rows';

const NO_NAMES: readonly string[] = [];

/** All rows of a mirror with their indexes. A resync fills a new one beside the old. */
export class MirrorState {
  /** Up to where the stream was read; -1 while a snapshot is loaded. */
  revision = -1;

  readonly providers = new VersionedRows<Provider>();
  readonly hosts = new VersionedRows<Host>();
  readonly consumers = new VersionedRows<Consumer>();
  readonly usages = new VersionedRows<Usage>();
  readonly resourceClasses = new VersionedRows<CatalogueName>();
  readonly traits = new VersionedRows<CatalogueName>();
  readonly aggregates = new VersionedRows<Aggregate>();
  readonly serverGroups = new VersionedRows<StoredGroup>();
  readonly leases = new VersionedRows<PlaceLease>();
  readonly guarantees = new VersionedRows<Guarantee>();
  guaranteeList: readonly Revised<Guarantee>[] = [];
  admissionTurn: Revised<AdmissionTurn> | undefined;
  readonly reservations = new VersionedRows<Reservation>();
  reservationList: readonly Revised<Reservation>[] = [];
  reservedProviders: ReadonlySet<string> = new Set();

  // Unique in the store; but while a change is ahead of the stream two rows may have one name, and the newer one counts.
  readonly byName = new NameIndex();
  readonly hostsByRoot = new NameIndex();
  readonly hostsByAggregate = new SetIndex();
  readonly children = new SetIndex();
  readonly byAggregate = new SetIndex();
  readonly byTrait = new SetIndex();
  readonly byClass = new SetIndex();
  readonly byProvider = new SetIndex();
  readonly byGroup = new SetIndex();
  readonly keptByGroup = new SetIndex();
  readonly leasesByRoot = new SetIndex();
  readonly nominations = new Set<string>();
  readonly projects = new ProjectIndex(this.consumers);
  #applied: Change | undefined;
  /** Changes since they were last taken. */
  #changedRoots = new Set<string>();
  #changedConsumers = new Set<string>();
  #changedAggregates = new Set<string>();

  /** All rows, in pieces; usages before the providers whose generations they have. */
  *rows(): Generator<Rows> {
    yield* inPieces(this.usages.values(), (usages) => ({ usages }));
    yield* inPieces(this.providers.values(), (providers) => ({ providers }));
    yield* inPieces(this.hosts.values(), (hosts) => ({ hosts }));
    yield* inPieces(this.consumers.values(), (consumers) => ({ consumers }));
    yield* inPieces(this.resourceClasses.values(), (resourceClasses) => ({ resourceClasses }));
    yield* inPieces(this.traits.values(), (traits) => ({ traits }));
    yield* inPieces(this.aggregates.values(), (aggregates) => ({ aggregates }));
    yield* inPieces(this.serverGroups.values(), (serverGroups) => ({ serverGroups }));
    yield* inPieces(this.leases.values(), (leases) => ({ leases }));
    yield* inPieces(this.guarantees.values(), (guarantees) => ({ guarantees }));
    yield* inPieces(this.reservations.values(), (reservations) => ({ reservations }));
    if (this.admissionTurn) yield { admissionTurns: [this.admissionTurn] };
    yield* inPieces(this.projects.rows.values(), (quotas) => ({ quotas }));
  }

  /** Takes the next change of the stream. */
  advance(change: Change): void {
    if (change.revision <= this.revision) return;
    this.#apply(change, change.revision);
    this.reached(change.revision);
  }

  /** Takes a change ahead of the stream, or one that may be old. */
  apply(change: Change): void {
    // Commits that shared a batch answer with the same change.
    if (change === this.#applied) return;
    this.#applied = change;
    if (change.revision === this.revision + 1) this.advance(change);
    else if (change.revision > this.revision) this.#apply(change, change.revision);
  }

  /** Takes rows without a change: chunks of a snapshot, the usage that a refused claim brings. */
  applyRows(rows: Rows): void {
    this.#apply(rows, this.revision);
  }

  /** Returns the changes since the last call. */
  takeChanged(): Changed {
    const changed = {
      roots: this.#changedRoots,
      consumers: this.#changedConsumers,
      aggregates: this.#changedAggregates,
    };
    if (changed.roots.size > 0) this.#changedRoots = new Set();
    if (changed.consumers.size > 0) this.#changedConsumers = new Set();
    if (changed.aggregates.size > 0) this.#changedAggregates = new Set();
    return changed;
  }

  tree(rootUuid: string): readonly Provider[] {
    const root = this.providers.get(rootUuid);
    if (!root) return [];
    const found: Provider[] = [root];
    // Grows while it is walked: parents come before their children.
    for (const provider of found) {
      for (const uuid of this.children.get(provider.uuid)) {
        const child = this.providers.get(uuid);
        if (child) found.push(child);
      }
    }
    return found;
  }

  /** Nothing is missing up to `revision`: of the snapshot, or of the stream. */
  reached(revision: number): void {
    this.revision = revision;
    for (const rows of [
      this.providers,
      this.hosts,
      this.consumers,
      this.usages,
      this.resourceClasses,
      this.traits,
      this.aggregates,
      this.serverGroups,
      this.leases,
      this.guarantees,
      this.reservations,
      this.projects.rows,
    ]) {
      rows.passed(revision);
    }
  }

  #apply(rows: Rows, revision: number): void {
    const floor = this.revision;
    for (const uuid of rows.deletedConsumers ?? NO_NAMES) {
      this.#indexConsumer(uuid, this.consumers.delete(uuid, revision, floor), undefined);
    }
    for (const uuid of rows.deletedProviders ?? NO_NAMES) {
      this.usages.delete(uuid, revision, floor);
      this.#indexProvider(uuid, this.providers.delete(uuid, revision, floor), undefined);
    }
    for (const name of rows.deletedHosts ?? NO_NAMES) {
      this.#indexHost(name, this.hosts.delete(name, revision, floor), undefined);
    }
    for (const name of rows.deletedResourceClasses ?? NO_NAMES) this.resourceClasses.delete(name, revision, floor);
    for (const name of rows.deletedTraits ?? NO_NAMES) this.traits.delete(name, revision, floor);
    for (const uuid of rows.deletedAggregates ?? NO_NAMES) {
      if (this.aggregates.delete(uuid, revision, floor)) this.#indexAggregate(uuid);
    }
    for (const key of rows.deletedServerGroups ?? NO_NAMES) this.serverGroups.delete(key, revision, floor);
    for (const row of rows.aggregates ?? []) {
      if (this.aggregates.set(row.uuid, row, floor) !== NOT_NEWER) this.#indexAggregate(row.uuid);
    }
    for (const row of rows.serverGroups ?? [])
      this.serverGroups.set(storedGroupKey(row.projectId, row.name), row, floor);
    for (const projectId of rows.deletedQuotas ?? NO_NAMES) this.projects.delete(projectId, revision, floor);
    for (const row of rows.quotas ?? []) this.projects.set(row, floor);
    for (const uuid of rows.deletedLeases ?? NO_NAMES) {
      this.#indexLease(uuid, this.leases.delete(uuid, revision, floor), undefined);
    }
    for (const row of rows.leases ?? []) {
      const before = this.leases.set(row.consumerUuid, row, floor);
      if (before !== NOT_NEWER) this.#indexLease(row.consumerUuid, before, row);
    }
    for (const name of rows.deletedGuarantees ?? NO_NAMES) this.guarantees.delete(name, revision, floor);
    for (const row of rows.guarantees ?? []) this.guarantees.set(row.name, row, floor);
    if (rows.guarantees || rows.deletedGuarantees) this.guaranteeList = [...this.guarantees.values()];
    for (const turn of rows.admissionTurns ?? []) {
      if (turn.revision > (this.admissionTurn?.revision ?? 0)) this.admissionTurn = turn;
    }
    if (rows.reservations || rows.deletedReservations) this.#setReservations(rows, revision);
    for (const row of rows.resourceClasses ?? []) this.resourceClasses.set(row.name, row, floor);
    for (const row of rows.traits ?? []) this.traits.set(row.name, row, floor);
    // Usages first: they have the generations.
    for (const row of rows.usages ?? []) this.#setUsage(row, floor);
    for (const row of rows.providers ?? []) this.#setProvider(sharedProvider(row), floor);
    for (const host of rows.hosts ?? []) {
      const row = sharedHost(host);
      const before = this.hosts.set(row.name, row, floor);
      if (before !== NOT_NEWER) this.#indexHost(row.name, before, row);
    }
    for (const row of rows.consumers ?? []) {
      const before = this.consumers.set(row.uuid, row, floor);
      if (before !== NOT_NEWER) this.#indexConsumer(row.uuid, before, row);
    }
  }

  #setReservations({ reservations = [], deletedReservations = NO_NAMES }: Rows, revision: number): void {
    for (const name of deletedReservations) this.reservations.delete(name, revision, this.revision);
    for (const row of reservations) this.reservations.set(row.name, row, this.revision);
    this.reservationList = [...this.reservations.values()];
    const units = this.reservationList.flatMap((one) => one.units);
    this.reservedProviders = new Set(units.flatMap(({ allocations }) => Object.keys(allocations)));
  }

  #setUsage(row: Revised<Usage>, floor: number): void {
    if (this.usages.set(row.providerUuid, row, floor) === NOT_NEWER) return;
    const provider = this.providers.get(row.providerUuid);
    if (!provider) return;
    this.providers.amend(row.providerUuid, { ...provider, generation: row.generation });
    this.#changedRoots.add(provider.rootUuid);
  }

  #setProvider(row: Revised<Provider>, floor: number): void {
    // A claim that was applied ahead of the stream may have raised the generation since.
    const generation = this.usages.get(row.uuid)?.generation ?? row.generation;
    const after = generation === row.generation ? row : { ...row, generation };
    const before = this.providers.set(row.uuid, after, floor);
    if (before !== NOT_NEWER) this.#indexProvider(row.uuid, before, after);
  }

  #indexProvider(uuid: string, before: Provider | undefined, after: Provider | undefined): void {
    if (!before && !after) return;
    this.byName.move(uuid, before?.name, after?.name);
    this.children.move(uuid, listOf(before?.parentUuid), listOf(after?.parentUuid));
    this.byTrait.move(uuid, before?.traits ?? NO_NAMES, after?.traits ?? NO_NAMES);
    this.byAggregate.move(uuid, before?.aggregates ?? NO_NAMES, after?.aggregates ?? NO_NAMES);
    this.byClass.move(uuid, keysOf(before?.inventories), keysOf(after?.inventories));
    if (before) this.#changedRoots.add(before.rootUuid);
    if (after) this.#changedRoots.add(after.rootUuid);
  }

  #indexHost(name: string, before: Host | undefined, after: Host | undefined): void {
    this.hostsByRoot.move(name, before?.providerUuid, after?.providerUuid);
    this.hostsByAggregate.move(name, before?.aggregates ?? NO_NAMES, after?.aggregates ?? NO_NAMES);
    if (before) this.#changedRoots.add(before.providerUuid);
    if (after) this.#changedRoots.add(after.providerUuid);
  }

  /** The hosts in it are read again. */
  #indexAggregate(uuid: string): void {
    this.#changedAggregates.add(uuid);
    for (const name of this.hostsByAggregate.get(uuid)) {
      const host = this.hosts.get(name);
      if (host) this.#changedRoots.add(host.providerUuid);
    }
  }

  /** The hosts of its places are read again. */
  #indexLease(uuid: string, before: PlaceLease | undefined, after: PlaceLease | undefined): void {
    if (!before && !after) return;
    this.leasesByRoot.move(uuid, rootsOf(before), rootsOf(after));
    for (const root of [...rootsOf(before), ...rootsOf(after)]) this.#changedRoots.add(root);
    if (after?.kind === 'nomination') this.nominations.add(uuid);
    else this.nominations.delete(uuid);
  }

  #indexConsumer(uuid: string, before: Consumer | undefined, after: Consumer | undefined): void {
    if (!before && !after) return;
    this.#changedConsumers.add(uuid);
    this.byProvider.move(uuid, keysOf(before?.allocations), keysOf(after?.allocations));
    this.byGroup.move(uuid, groupOf(before, false), groupOf(after, false));
    this.keptByGroup.move(uuid, groupOf(before, true), groupOf(after, true));
    this.projects.move(before, after);
  }
}

/** So many rows take about a millisecond to write down. */
const ROWS_AT_ONCE = 500;

function* inPieces<T>(rows: Iterable<T>, asRows: (piece: readonly T[]) => Rows): Generator<Rows> {
  let piece: T[] = [];
  for (const row of rows) {
    if (piece.push(row) < ROWS_AT_ONCE) continue;
    yield asRows(piece);
    piece = [];
  }
  if (piece.length > 0) yield asRows(piece);
}

/** The group that it is a member of, or keeps a place for. */
function groupOf(consumer: Consumer | undefined, isKept: boolean): readonly string[] {
  if (consumer?.groupId === undefined || (consumer.groupKept !== undefined) !== isKept) return NO_NAMES;
  return [groupKey(consumer.projectId, consumer.groupId)];
}

function rootsOf(lease: PlaceLease | undefined): readonly string[] {
  return lease === undefined ? NO_NAMES : [...new Set(lease.places.map(({ rootUuid }) => rootUuid))];
}

function keysOf(map: object | undefined): readonly string[] {
  return map === undefined ? NO_NAMES : Object.keys(map);
}

function listOf(label: string | undefined): readonly string[] {
  return label === undefined ? NO_NAMES : [label];
}
