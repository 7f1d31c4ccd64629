import type { Resources } from '#libs/domain/inventory';
import { NO_PRICES } from '../demand/prices';
import type { ClassFilter } from '../filters/filter';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import { requiredAmounts } from '../fleet/host-capacity';
import { type HostState, isSameList, withClaim } from '../fleet/host-state';
import { locate, withMembers } from '../fleet/located-request';
import { needsSearch, searchOn } from '../ranking/candidates';
import { Judgement, placesOf } from '../ranking/judgement';
import { RequestConstraints } from '../ranking/request-constraints';
import type { EquivalenceClass } from '../request/equivalence-class';
import type { SelectSettings } from '../settings';
import type { InstanceItem } from './instance-item';
import type { PlacedItem, PlacementRules } from './witness';

/** The scheduler's own rules, for instances that leave their hosts: its filters, candidate search, groups and quotas. */
export class HostRules implements PlacementRules<InstanceItem, HostState> {
  /** The fleet as items are placed on it now. */
  snapshot: FleetSnapshot;
  /** Members that are about to be claimed, which no view shows yet: their group and host. */
  readonly coming: Coming[] = [];
  readonly #classes = new Map<string, ClassRules>();
  /** True if claims change nothing of a flat host that a filter looks at, but amounts. */
  readonly #isCountable: boolean;
  readonly #lasting: ReadonlySet<string>;

  constructor(
    private readonly fleet: Fleet,
    private readonly settings: SelectSettings,
  ) {
    this.snapshot = fleet.snapshot(0);
    const { maxInstancesPerHost, maxBuildsPerHost, classFilters } = settings;
    const lasting = new Set(classFilters.filter(isLasting).map(({ name }) => name));
    this.#lasting = lasting;
    this.#isCountable =
      maxInstancesPerHost === 0 &&
      maxBuildsPerHost === 0 &&
      classFilters.every(({ name }) => lasting.has(name) || COUNTED.has(name));
  }

  base = (host: number): HostState | undefined => this.snapshot.at(host);

  hosts = ({ instances: [first] }: InstanceItem): readonly number[] => {
    return first ? this.#rulesOf(first.equivalenceClass).hosts(this.snapshot) : [];
  };

  place({ instances }: InstanceItem, load: HostState): HostState | undefined {
    let state = load;
    for (const { uuid, equivalenceClass } of instances) {
      const { judgement } = this.#rulesOf(equivalenceClass);
      if (judgement.refusals(state).length > 0) return undefined;
      const { index, root } = state;
      const candidate = needsSearch(equivalenceClass, state)
        ? searchOn(equivalenceClass, state)
        : { rootUuid: root.uuid, allocations: { [root.uuid]: equivalenceClass.resources } };
      if (!candidate) return undefined;
      const { rootUuid, allocations } = candidate;
      state = withClaim(state, { consumerUuid: uuid, hostIndex: index, rootUuid, allocations, group: undefined });
    }
    return state;
  }

  allowed(
    { instances, isBound, group, hostIndex }: InstanceItem,
    placed: readonly PlacedItem<InstanceItem>[],
    mates: readonly InstanceItem[],
  ): ((host: number) => boolean) | undefined {
    const [first] = instances;
    if (!isBound || !first) return undefined;
    const { fleet, settings, snapshot } = this;
    const uuids = instances.map(({ uuid }) => uuid);
    const together = new Set([...mates.flatMap((mate) => mate.instances.map(({ uuid }) => uuid)), ...uuids]);
    // Members that are claimed elsewhere leave this host, too: their places here do not bind the item.
    for (const { consumerUuid } of group === undefined ? [] : fleet.pending.inGroup(group)) {
      if (fleet.indexOfConsumer(consumerUuid) === hostIndex) together.add(consumerUuid);
    }
    const isOpen = placesOf(first.equivalenceClass, settings);
    const leaves = snapshot.at(hostIndex)?.host.name;
    // Nominations end by themselves, and no change says so: a place that is kept for a moment stays a place.
    let located = locate(first.spec, uuids, { fleet, snapshot, isOpen }, { isMove: true, together, leaves });
    for (const { item, host } of placed) located = withMembers(located, host, item.instances.length);
    for (const one of this.coming) {
      if (one.group === group && !together.has(one.uuid)) located = withMembers(located, one.hostIndex, 1);
    }
    const constraints = new RequestConstraints(located, settings);
    return (host) => constraints.allows(host);
  }

  /** Flat hosts of which a claim changes nothing but amounts: its items fit as long as none is below 0. */
  shift(before: HostState, after: HostState, load: HostState): HostState | undefined {
    if (!this.#isCountable || !isSameButAmounts(before, after)) return undefined;
    const free: Record<string, number> = {};
    for (const name in after.free) {
      const left = (load.free[name] ?? 0) + (after.free[name] as number) - (before.free[name] ?? 0);
      if (left < 0) return undefined;
      free[name] = left;
    }
    const instances = load.instances + after.instances - before.instances;
    return { ...load, host: after.host, root: after.root, free, freeAtOnce: free, instances };
  }

  /** Upper bounds: what all hosts have free of each class, and how many of the smallest item they take. */
  exceeds(items: Iterable<InstanceItem>, isLeft: (host: number) => boolean): boolean {
    const all = [...items].flatMap(({ instances }) => instances);
    const classes = new Map(all.map(({ equivalenceClass }) => [equivalenceClass.key, equivalenceClass]));
    const hosts = new Set([...classes.values()].flatMap((one) => this.#rulesOf(one).hosts(this.snapshot)));
    const demand: Record<string, number> = {};
    const least: Record<string, number> = {};
    for (const { equivalenceClass } of all) {
      for (const [name, amount] of Object.entries(this.#rulesOf(equivalenceClass).amounts)) {
        demand[name] = (demand[name] ?? 0) + amount;
      }
    }
    const everyAmounts = [...classes.values()].map((one) => this.#rulesOf(one).amounts);
    for (const name in demand) least[name] = Math.min(...everyAmounts.map((amounts) => amounts[name] ?? 0));
    let slots = 0;
    for (const index of hosts) {
      const state = isLeft(index) ? this.snapshot.at(index) : undefined;
      if (!state) continue;
      let fits = Number.POSITIVE_INFINITY;
      for (const name in demand) {
        const free = Math.max(0, state.free[name] ?? 0);
        demand[name] = (demand[name] as number) - free;
        const each = least[name] as number;
        if (each > 0) fits = Math.min(fits, Math.floor(free / each));
      }
      slots += fits;
    }
    return slots < all.length || Object.values(demand).some((left) => left > 0);
  }

  /** A host has changed itself, not only what is claimed there. */
  forgetHosts(): void {
    for (const rules of this.#classes.values()) rules.forgetHosts();
  }

  #rulesOf(equivalenceClass: EquivalenceClass): ClassRules {
    const { key } = equivalenceClass;
    let rules = this.#classes.get(key);
    if (!rules) {
      if (this.#classes.size >= MAX_CLASSES) this.#classes.clear();
      rules = new ClassRules(equivalenceClass, this.settings, this.#lasting);
      this.#classes.set(key, rules);
    }
    return rules;
  }
}

interface Coming {
  readonly uuid: string;
  readonly group: string;
  readonly hostIndex: number;
}

/** True for a filter that looks at nothing that a claim changes: a host that it refuses stays out until it changes itself. */
function isLasting({ name, saysWhere }: ClassFilter): boolean {
  return saysWhere === true || name === 'compute';
}

/** Filters that look at amounts of a flat host alone, which has no devices. */
const COUNTED = new Set(['capacity', 'instance_limit', 'build_limit', 'whole_node', 'devices']);
const MAX_CLASSES = 1_000;

/** True if two states of a flat host differ in amounts alone. */
export function isSameButAmounts(a: HostState, b: HostState): boolean {
  return (
    a.providers === undefined &&
    b.providers === undefined &&
    a.inventories === b.inventories &&
    a.traits === b.traits &&
    a.host.up === b.host.up &&
    a.host.enabled === b.host.enabled &&
    a.host.capabilities === b.host.capabilities &&
    a.instances > 0 === b.instances > 0 &&
    a.quarantine?.isOpen === b.quarantine?.isOpen &&
    isSameList(a.aggregates, b.aggregates)
  );
}

/** The rules of one class. */
class ClassRules {
  readonly judgement: Judgement;
  readonly amounts: Resources;
  #hosts: readonly number[] | undefined;

  constructor(
    equivalenceClass: EquivalenceClass,
    settings: SelectSettings,
    private readonly lasting: ReadonlySet<string>,
  ) {
    this.judgement = new Judgement(equivalenceClass, settings, NO_PRICES);
    this.amounts = requiredAmounts(equivalenceClass);
  }

  /** Hosts that no lasting filter refuses. */
  hosts({ hosts }: FleetSnapshot): readonly number[] {
    if (this.#hosts) return this.#hosts;
    const found: number[] = [];
    hosts.forEach((index, state) => {
      const isOut = this.judgement
        .refusals(state)
        .some(({ filter, reason }) => this.lasting.has(filter) || reason.symbol.startsWith('no_inventory'));
      if (!isOut) found.push(index);
    });
    this.#hosts = found;
    return found;
  }

  forgetHosts(): void {
    this.#hosts = undefined;
  }
}
