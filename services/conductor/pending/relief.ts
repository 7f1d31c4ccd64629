import { groupKey } from '#libs/domain/server-group';
import type { Change } from '#libs/placement/port/placement-store';

/**
 * Improvements by some changes of the store that could help a waiting request. Coarse on purpose, and never too narrow: a
 * useless one costs one question to a scheduler for each kind of request; a missed one costs a wait.
 */
export interface Relief {
  /** Resource classes, in lower case, of which more is free somewhere; `*` for any. */
  readonly classes: ReadonlySet<string>;
  /** Hosts, aggregates, groups, traits or inventories are others. */
  readonly isFleetOther: boolean;
  /** Somebody holds less, or quotas are others. */
  readonly isLessHeld: boolean;
  /** Consumers with new or moved claims, and their groups (`peerOfGroup`); `*` for any. */
  readonly peers: ReadonlySet<string>;
}

/** A group's name among peers. */
export function peerOfGroup(projectId: string, groupId: string): string {
  return `group ${groupKey(projectId, groupId)}`;
}

/**
 * True if a change could help a request that these symbols refused on all hosts. A host may lack several things, and one
 * change may give the last: so it is enough that it touches one of them.
 *
 * @param peers  the instances that it wants to be with or away from, and its group; without them, all
 */
export function couldHelp(
  { classes, isFleetOther, isLessHeld, peers: moved }: Relief,
  waitsFor: readonly string[],
  peers?: ReadonlySet<string>,
): boolean {
  const hasPeerMoved =
    moved.size > 0 && (peers === undefined || moved.has(ANYBODY) || [...peers].some((peer) => moved.has(peer)));
  return waitsFor.some((symbol) => {
    if (hasPeerMoved && BESIDE_OTHERS.includes(symbol)) return true;
    const ofClass = CAPACITY.find((prefix) => symbol.startsWith(prefix));
    if (ofClass !== undefined) return classes.has(symbol.slice(ofClass.length)) || classes.has(ANY_CLASS);
    if (symbol.startsWith(DECLARED_RULE)) return isFleetOther || isLessHeld || classes.size > 0;
    return isFleetOther || (HELD_BY_OTHERS.includes(symbol) && (isLessHeld || classes.size > 0));
  });
}

const ANY_CLASS = '*';
const ANYBODY = '*';
const CAPACITY = ['capacity_', 'no_inventory_', 'min_unit_', 'max_unit_', 'step_size_'];
/** Refusals that end when another consumer leaves. */
const HELD_BY_OTHERS = [
  'quota_exceeded',
  'group_is_here',
  'group_is_elsewhere',
  'group_is_uneven',
  'nominated',
  'node_taken',
  'same_host_as_other',
  'too_many_instances',
  'too_many_builds',
  'no_candidate',
  'claim_refused',
];
/** Refusals that end when another consumer comes or moves: a peer to be with, a member where a group has fewest. */
const BESIDE_OTHERS = [
  'not_same_host',
  'same_host_as_other',
  'group_is_here',
  'group_is_elsewhere',
  'group_is_uneven',
  'no_candidate',
  'claim_refused',
];

/** Declared filters read all of a host. */
const DECLARED_RULE = 'rule_';

/** Peers that are named; of more, anybody is meant. */
const MAX_PEERS = 10_000;

const SHARES = 'MISC_SHARES_VIA_AGGREGATE';

/** Providers and hosts that are remembered; then all are forgotten, and the next change of each could help anybody. */
const MAX_REMEMBERED = 400_000;

/**
 * Tells what became better with changes. They carry rows as they are, not differences: so it remembers of each row that it
 * saw what matters. The first of each row counts as better in all it has.
 */
export class ReliefWatch {
  readonly #used = new Map<string, Readonly<Record<string, number>>>();
  readonly #capacities = new Map<string, Readonly<Record<string, number>>>();
  readonly #facts = new Map<string, string>();
  readonly #links = new Map<string, string>();
  readonly #busy = new Map<string, number>();
  #classes = new Set<string>();
  #isFleetOther = false;
  #isLessHeld = false;
  #peers = new Set<string>();
  #isAll = true;
  /** Revision of the last change seen. */
  revision = 0;

  /** Improvements since the last call; `all` when some may have been missed. */
  take(): Relief | 'all' | undefined {
    const isAll = this.#isAll;
    const relief: Relief = {
      classes: this.#classes,
      isFleetOther: this.#isFleetOther,
      isLessHeld: this.#isLessHeld,
      peers: this.#peers,
    };
    this.#classes = new Set();
    this.#isFleetOther = false;
    this.#isLessHeld = false;
    this.#peers = new Set();
    this.#isAll = false;
    if (isAll) return 'all';
    const { classes, isFleetOther, isLessHeld, peers } = relief;
    return classes.size > 0 || isFleetOther || isLessHeld || peers.size > 0 ? relief : undefined;
  }

  /** Changes up to a revision may have been missed. */
  missed(revision: number): void {
    this.revision = revision;
    this.#used.clear();
    this.#capacities.clear();
    this.#facts.clear();
    this.#links.clear();
    this.#busy.clear();
    this.#isAll = true;
  }

  see(change: Change): void {
    if (this.#used.size + this.#facts.size > MAX_REMEMBERED) this.missed(change.revision);
    this.revision = change.revision;
    for (const provider of change.providers ?? []) this.#seeProvider(provider);
    for (const {
      name,
      up,
      enabled,
      aggregates,
      failuresInARow,
      capabilities,
      ioOps,
      externalInstances,
    } of change.hosts ?? []) {
      this.#note(`host ${name}`, JSON.stringify([up, enabled, aggregates, failuresInARow, capabilities]));
      // Work on the host outside Berth counts against the host's limits, too.
      const busy = ioOps + externalInstances;
      if (busy < (this.#busy.get(name) ?? busy)) this.#isLessHeld = true;
      this.#busy.set(name, busy);
    }
    for (const { providerUuid, used } of change.usages ?? []) {
      const before = this.#used.get(providerUuid);
      // An unknown usage may have fallen.
      if (before === undefined) this.#classes.add(ANY_CLASS);
      else this.#better(used, before);
      this.#used.set(providerUuid, used);
    }
    if ((change.deletedConsumers ?? []).length + (change.deletedLeases ?? []).length > 0) this.#isLessHeld = true;
    for (const { uuid, projectId, groupId } of change.consumers ?? []) {
      this.#peers.add(this.#peers.size < MAX_PEERS ? uuid : ANYBODY);
      if (groupId !== undefined) this.#peers.add(peerOfGroup(projectId, groupId));
    }
    for (const { kind, consumerUuid, places } of change.leases ?? []) {
      if (kind === 'nomination' && this.#isOther(`lease ${consumerUuid}`, JSON.stringify(places)))
        this.#isLessHeld = true;
    }
    if ((change.quotas ?? []).length + (change.deletedQuotas ?? []).length > 0) this.#isLessHeld = true;
    // A window that opens or ends, or units that move, leave other amounts to each.
    if ((change.reservations ?? []).length + (change.deletedReservations ?? []).length > 0) {
      this.#classes.add(ANY_CLASS);
      this.#isFleetOther = true;
    }
    const others = [change.aggregates, change.deletedAggregates, change.serverGroups, change.deletedServerGroups];
    if (others.some((rows) => rows !== undefined && rows.length > 0)) this.#isFleetOther = true;
  }

  #seeProvider({ uuid, inventories, traits, aggregates, parentUuid }: NonNullable<Change['providers']>[number]): void {
    const capacities: Record<string, number> = {};
    for (const [name, { total, reserved, allocationRatio, minUnit, maxUnit, stepSize }] of Object.entries(
      inventories,
    )) {
      capacities[name] = (total - reserved) * allocationRatio;
      // An amount that was refused as it is may be taken by other units.
      const units = JSON.stringify([minUnit, maxUnit, stepSize]);
      if (this.#isOther(`units ${uuid} ${name}`, units)) this.#classes.add(name.toLowerCase());
    }
    this.#better(this.#capacities.get(uuid) ?? {}, capacities);
    this.#capacities.set(uuid, capacities);
    // Sharing and child providers serve others: any class may have become free.
    const links = JSON.stringify([aggregates, parentUuid, traits.includes(SHARES)]);
    if ((this.#links.get(uuid) ?? links) !== links) this.#classes.add(ANY_CLASS);
    this.#links.set(uuid, links);
    this.#note(`provider ${uuid}`, JSON.stringify([traits, aggregates, parentUuid]));
  }

  /** Classes of which there is more than there was. */
  #better(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>): void {
    for (const name in after) if ((after[name] ?? 0) > (before[name] ?? 0)) this.#classes.add(name.toLowerCase());
  }

  #note(key: string, facts: string): void {
    if (this.#isOther(key, facts)) this.#isFleetOther = true;
  }

  /** True when something is otherwise than it was remembered; the first time, too. */
  #isOther(key: string, facts: string): boolean {
    if (this.#facts.get(key) === facts) return false;
    this.#facts.set(key, facts);
    return true;
  }
}
