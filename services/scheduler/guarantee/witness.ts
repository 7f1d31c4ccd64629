import { Journal } from './journal';

/** A unit that a loss takes from its host: an instance, or the members of an affinity group that go together. */
export interface Item {
  readonly key: string;
  /** Items of one group restrict one another. */
  readonly group: string | undefined;
  /** Items of one kind fit wherever another of it fits; undefined where that is not known. */
  readonly kind: string | undefined;
}

/** The rules by which items are placed, over immutable loads of hosts. Pure. */
export interface PlacementRules<I extends Item, L> {
  /** The host as it is now; undefined where there is none. */
  base(host: number): L | undefined;
  /** The load once the item is there, too; undefined where the host refuses it. */
  place(item: I, load: L): L | undefined;
  /** Hosts to try for an item, in order. */
  hosts(item: I): readonly number[];
  /** The hosts that the item's group and names allow, once some of its group (`mates`) are placed; undefined where all are. */
  allowed(item: I, placed: readonly PlacedItem<I>[], mates: readonly I[]): ((host: number) => boolean) | undefined;
  /** Load after the host's own state changed, where that is known without placing its items again. */
  shift?(before: L, after: L, load: L): L | undefined;
  /** True if amounts alone prove that not all of these items fit on these hosts. */
  exceeds?(items: Iterable<I>, hosts: (host: number) => boolean): boolean;
}

export interface PlacedItem<I> {
  readonly item: I;
  readonly host: number;
}

/** Steps of a search; a step is one item tried on one host. */
export interface Effort {
  /** For moving other items out of the way of one. */
  readonly repairSteps: number;
  /** For placing all items anew; 0 never does. */
  readonly exactSteps: number;
}

/** Verdict on an item without a place: there is none for all items together, or the search ended before it was certain. */
export type Unplaced = 'none' | 'unknown';

/**
 * An assignment of what one loss would take to what it would leave.
 *
 * The naive way packs all lost items anew for each request: thousands of searches a second. Here the last assignment is
 * kept. A claim adds one item, or takes capacity that some items were to use: only these are placed again. An item goes to
 * the next host that takes it; where none does, others are moved out of its way (augmenting paths, as in bipartite
 * matching; hosts hold several items of several dimensions, so that this is incomplete); where that fails, all items are
 * placed anew by backtracking. Each search is bounded. An assignment that stands is always valid, because every item in it
 * was placed by the rules. "None" is certain; beyond the bounds it is "unknown".
 */
export class Witness<I extends Item, L> {
  readonly items = new Map<string, I>();
  readonly unplaced = new Map<string, Unplaced>();
  readonly #at = new Map<string, number>();
  readonly #stays = new Map<number, Stay<I, L>>();
  readonly #groups = new Map<string, readonly I[]>();
  /** Kinds of which no more fit, until capacity comes. */
  readonly #full = new Map<string, Unplaced>();
  /** Where the next search begins, by the list of hosts: hosts before it were found full. */
  readonly #cursors = new WeakMap<readonly number[], number>();

  constructor(
    readonly isLost: (host: number) => boolean,
    private readonly rules: PlacementRules<I, L>,
    private readonly effort: Effort,
    private readonly journal = new Journal(),
  ) {}

  /** The host to which an item goes. */
  placeOf(key: string): number | undefined {
    return this.#at.get(key);
  }

  /** True if the assignment uses the host. */
  uses(host: number): boolean {
    return this.#stays.has(host);
  }

  /** The host with the items that go there. */
  loadOf(host: number): L | undefined {
    return this.#stays.get(host)?.load ?? this.rules.base(host);
  }

  /** All places, by host. */
  *places(): Generator<PlacedItem<I>> {
    for (const [host, { items }] of this.#stays) for (const item of items) yield { item, host };
  }

  /** Takes an item in; first to the host that is preferred, if any. */
  add(item: I, preferred?: number): void {
    if (this.items.has(item.key)) this.remove(item.key);
    this.journal.set(this.items, item.key, item);
    if (item.group === undefined) return this.#seat(item, preferred);
    this.#setGroup(item.group, [...(this.#groups.get(item.group) ?? []), item]);
    this.regroup(item.group);
  }

  /** Lets an item go, and gives its place to one that has none. */
  remove(key: string): void {
    const item = this.items.get(key);
    if (!item) return;
    this.#vacate(item);
    this.journal.set(this.items, key, undefined);
    this.journal.set(this.unplaced, key, undefined);
    this.#forgetFull();
    if (item.group !== undefined) {
      this.#setGroup(
        item.group,
        (this.#groups.get(item.group) ?? []).filter((one) => one.key !== key),
      );
      this.regroup(item.group);
    }
    this.retry();
  }

  /** The host has changed; it takes more than before unless `hasShrunk`. */
  rebase(host: number, hasShrunk = false): void {
    if (!hasShrunk) this.#forgetFull();
    const stay = this.#stays.get(host);
    if (!stay) return;
    const base = this.isLost(host) ? undefined : this.rules.base(host);
    if (base === stay.base) return;
    const shifted = base && this.rules.shift?.(stay.base, base, stay.load);
    if (shifted) return this.journal.set(this.#stays, host, { ...stay, base: base as L, load: shifted });
    this.journal.set(this.#stays, host, undefined);
    const homeless: I[] = [];
    for (const item of stay.items) {
      this.journal.set(this.#at, item.key, undefined);
      const isAllowed = this.#allowed(item)?.(host) ?? true;
      if (!(base && isAllowed && this.#sit(item, host))) homeless.push(item);
    }
    for (const item of homeless) this.#seat(item);
  }

  /** Something else of the group has changed: its items are placed again. */
  regroup(group: string): void {
    const items = this.#groups.get(group) ?? [];
    if (items.length === 0) return;
    const before = items.map((item) => this.#at.get(item.key));
    for (const item of items) this.#vacate(item);
    for (const [n, item] of items.entries()) this.#seat(item, before[n]);
  }

  /** Tries again to place what has no place; capacity may have come. */
  retry(): void {
    const waiting = [...this.unplaced.keys()];
    for (const key of waiting) this.#seat(this.items.get(key) as I);
  }

  /** True if every item has a place where the rules accept it, as of now: what holds always. For tests. */
  isValid(): boolean {
    const loads = new Map<number, L | undefined>();
    const placedBefore: PlacedItem<I>[] = [];
    for (const { item, host } of this.places()) {
      if (this.isLost(host)) return false;
      const load = loads.get(host) ?? this.rules.base(host);
      const after = load && this.rules.place(item, load);
      if (!after) return false;
      loads.set(host, after);
      placedBefore.push({ item, host });
    }
    return [...this.items.keys()].every((key) => this.#at.has(key) !== this.unplaced.has(key));
  }

  #seat(item: I, preferred?: number): void {
    const verdict = this.#find(item, preferred);
    this.journal.set(this.unplaced, item.key, verdict === 'placed' ? undefined : verdict);
  }

  #find(item: I, preferred?: number): 'placed' | Unplaced {
    const known = item.kind === undefined ? undefined : this.#full.get(item.kind);
    if (known) return known;
    if (this.#seatDirectly(item, preferred)) return 'placed';
    const verdict = this.#makeRoom(item);
    if (verdict !== 'placed' && item.kind !== undefined) this.journal.set(this.#full, item.kind, verdict);
    return verdict;
  }

  #makeRoom(item: I): 'placed' | Unplaced {
    const together = [...this.items.values()].filter((one) => one === item || !this.unplaced.has(one.key));
    if (this.rules.exceeds?.(together, (host) => !this.isLost(host))) return 'none';
    const budget = { left: this.effort.repairSteps };
    if (this.#displace(item, budget, new Set())) return 'placed';
    return this.#placeAll(together);
  }

  #forgetFull(): void {
    for (const kind of this.#full.keys()) this.journal.set(this.#full, kind, undefined);
  }

  #seatDirectly(item: I, preferred: number | undefined): boolean {
    const allowed = this.#allowed(item);
    const fits = (host: number) => !this.isLost(host) && (allowed?.(host) ?? true) && this.#sit(item, host);
    if (preferred !== undefined && fits(preferred)) return true;
    const hosts = this.rules.hosts(item);
    const start = this.#cursors.get(hosts) ?? 0;
    for (let n = 0; n < hosts.length; n++) {
      const at = (start + n) % hosts.length;
      if (!fits(hosts[at] as number)) continue;
      this.#cursors.set(hosts, at);
      return true;
    }
    return false;
  }

  /** Moves items out of the way of one, each to where it fits, or where others can be moved. */
  #displace(item: I, budget: { left: number }, visited: Set<number>): boolean {
    const allowed = this.#allowed(item);
    for (const host of this.rules.hosts(item)) {
      const stay = this.#stays.get(host);
      if (!stay || visited.has(host) || !(allowed?.(host) ?? true)) continue;
      visited.add(host);
      // Items of groups stay: where they may go depends on one another.
      const movable = stay.items.filter(({ group }) => group === undefined);
      const choices = movable.length > 1 ? [...movable.map((one) => [one]), movable] : [movable];
      for (const leaving of choices) {
        if (leaving.length === 0) continue;
        if (--budget.left < 0) return false;
        const mark = this.journal.mark();
        for (const one of leaving) this.#vacate(one);
        const isMade =
          this.#sit(item, host) &&
          leaving.every((one) => this.#seatDirectly(one, undefined) || this.#displace(one, budget, visited));
        if (isMade) return true;
        this.journal.rollBack(mark);
      }
    }
    return false;
  }

  /** Places all of these anew by backtracking. Certain unless the steps run out. */
  #placeAll(items: readonly I[]): 'placed' | Unplaced {
    const { exactSteps } = this.effort;
    if (exactSteps === 0 || items.length > MAX_EXACT_ITEMS) return 'unknown';
    const mark = this.journal.mark();
    for (const item of items) this.#vacate(item);
    const budget = { left: exactSteps };
    if (this.#placeEach(items, 0, budget)) return 'placed';
    this.journal.rollBack(mark);
    // The order in which members of a group come may matter to it: only one was tried.
    return budget.left < 0 || this.#groups.size > 0 ? 'unknown' : 'none';
  }

  #placeEach(items: readonly I[], n: number, budget: { left: number }): boolean {
    const item = items[n];
    if (item === undefined) return true;
    const allowed = this.#allowed(item);
    for (const host of this.rules.hosts(item)) {
      if (--budget.left < 0) return false;
      if (this.isLost(host) || !(allowed?.(host) ?? true)) continue;
      const mark = this.journal.mark();
      if (this.#sit(item, host) && this.#placeEach(items, n + 1, budget)) return true;
      this.journal.rollBack(mark);
    }
    return false;
  }

  #allowed(item: I): ((host: number) => boolean) | undefined {
    const others = item.group === undefined ? [] : (this.#groups.get(item.group) ?? []);
    const placed: PlacedItem<I>[] = [];
    for (const one of others) {
      const host = one.key === item.key ? undefined : this.#at.get(one.key);
      if (host !== undefined) placed.push({ item: one, host });
    }
    return this.rules.allowed(item, placed, others);
  }

  /** Puts an item on a host if it fits there. */
  #sit(item: I, host: number): boolean {
    const stay = this.#stays.get(host);
    const base = stay?.base ?? this.rules.base(host);
    if (base === undefined) return false;
    const load = this.rules.place(item, stay?.load ?? base);
    if (load === undefined) return false;
    this.journal.set(this.#stays, host, { base, load, items: [...(stay?.items ?? []), item] });
    this.journal.set(this.#at, item.key, host);
    return true;
  }

  #vacate(item: I): void {
    const host = this.#at.get(item.key);
    if (host === undefined) return;
    this.journal.set(this.#at, item.key, undefined);
    const { base, items } = this.#stays.get(host) as Stay<I, L>;
    const rest: I[] = [];
    let load = base;
    for (const one of items) {
      if (one.key === item.key) continue;
      const after = this.rules.place(one, load);
      if (after === undefined) {
        // It fitted only beside the one that leaves, as a declared filter may want it.
        this.journal.set(this.#at, one.key, undefined);
        this.journal.set(this.unplaced, one.key, 'unknown');
        continue;
      }
      load = after;
      rest.push(one);
    }
    this.journal.set(this.#stays, host, rest.length === 0 ? undefined : { base, load, items: rest });
    this.#forgetFull();
  }

  #setGroup(group: string, items: readonly I[]): void {
    this.journal.set(this.#groups, group, items.length === 0 ? undefined : items);
  }
}

/** More than that can't be tried in all ways within any bound. */
const MAX_EXACT_ITEMS = 64;

/** The items that go to a host, and what they make of it. Immutable. */
interface Stay<I, L> {
  readonly base: L;
  readonly load: L;
  readonly items: readonly I[];
}
