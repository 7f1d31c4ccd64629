import type { Change } from '#libs/placement/port/placement-store';

/**
 * What has become better with some changes of the store: what could help one who waits. Coarse on purpose, and never too
 * narrow: what helps nobody costs one question to a scheduler for each kind of request; what is missed costs a wait.
 */
export interface Relief {
  /** Resource classes, in lower case, of which more is free somewhere; `*` for any. */
  readonly classes: ReadonlySet<string>;
  /** Hosts, aggregates, groups, traits or inventories are others. */
  readonly isFleetOther: boolean;
  /** Somebody holds less, or quotas are others. */
  readonly isLessHeld: boolean;
}

/**
 * Whether a change could help a request that these symbols refused on all hosts. A host may lack several things, and one
 * change may give the last: so it is enough that it touches one of them.
 */
export function couldHelp({ classes, isFleetOther, isLessHeld }: Relief, waitsFor: readonly string[]): boolean {
  return waitsFor.some((symbol) => {
    const ofClass = CAPACITY.find((prefix) => symbol.startsWith(prefix));
    if (ofClass !== undefined) return classes.has(symbol.slice(ofClass.length)) || classes.has(ANY_CLASS);
    return isFleetOther || (HELD_BY_OTHERS.includes(symbol) && (isLessHeld || classes.size > 0));
  });
}

const ANY_CLASS = '*';
const CAPACITY = ['capacity_', 'no_inventory_', 'min_unit_', 'max_unit_', 'step_size_'];
/** What ends when somebody else leaves. */
const HELD_BY_OTHERS = [
  'quota_exceeded',
  'group_is_here',
  'group_is_elsewhere',
  'group_is_uneven',
  'nominated',
  'same_host_as_other',
  'too_many_instances',
  'too_many_builds',
  'no_candidate',
  'claim_refused',
];

/** Providers and hosts that are remembered; then all are forgotten, and the next change of each could help anybody. */
const MAX_REMEMBERED = 200_000;

/**
 * Tells what became better with changes. They carry rows as they are, not differences: so it remembers of each row that it
 * saw what matters. The first of each row counts as better in all it has.
 */
export class ReliefWatch {
  readonly #used = new Map<string, Readonly<Record<string, number>>>();
  readonly #capacities = new Map<string, Readonly<Record<string, number>>>();
  readonly #facts = new Map<string, string>();
  #classes = new Set<string>();
  #isFleetOther = false;
  #isLessHeld = false;
  #isAll = true;
  /** Of the last change that it saw. */
  revision = 0;

  /** What became better since the last call; `all` when something may have been missed. */
  take(): Relief | 'all' | undefined {
    const isAll = this.#isAll;
    const relief = { classes: this.#classes, isFleetOther: this.#isFleetOther, isLessHeld: this.#isLessHeld };
    this.#classes = new Set();
    this.#isFleetOther = false;
    this.#isLessHeld = false;
    this.#isAll = false;
    if (isAll) return 'all';
    return relief.classes.size > 0 || relief.isFleetOther || relief.isLessHeld ? relief : undefined;
  }

  /** Changes up to a revision may have been missed. */
  missed(revision: number): void {
    this.revision = revision;
    this.#used.clear();
    this.#capacities.clear();
    this.#facts.clear();
    this.#isAll = true;
  }

  see(change: Change): void {
    if (this.#used.size + this.#facts.size > MAX_REMEMBERED) this.missed(change.revision);
    this.revision = change.revision;
    for (const { uuid, inventories, traits, aggregates, parentUuid } of change.providers ?? []) {
      const capacities: Record<string, number> = {};
      for (const [name, { total, reserved, allocationRatio }] of Object.entries(inventories)) {
        capacities[name] = (total - reserved) * allocationRatio;
      }
      this.#better(this.#capacities.get(uuid) ?? {}, capacities);
      this.#capacities.set(uuid, capacities);
      const units = Object.values(inventories).map(({ minUnit, maxUnit, stepSize }) => [minUnit, maxUnit, stepSize]);
      this.#note(`provider ${uuid}`, JSON.stringify([traits, aggregates, parentUuid, units]));
    }
    for (const { name, up, enabled, aggregates, failuresInARow, capabilities } of change.hosts ?? []) {
      this.#note(`host ${name}`, JSON.stringify([up, enabled, aggregates, failuresInARow, capabilities]));
    }
    for (const { providerUuid, used } of change.usages ?? []) {
      const before = this.#used.get(providerUuid);
      // Of what is not known yet, it may be less.
      if (before === undefined) this.#classes.add(ANY_CLASS);
      else this.#better(used, before);
      this.#used.set(providerUuid, used);
    }
    if ((change.deletedConsumers ?? []).length + (change.deletedLeases ?? []).length > 0) this.#isLessHeld = true;
    if ((change.quotas ?? []).length + (change.deletedQuotas ?? []).length > 0) this.#isLessHeld = true;
    const others = [change.aggregates, change.deletedAggregates, change.serverGroups, change.deletedServerGroups];
    if (others.some((rows) => rows !== undefined && rows.length > 0)) this.#isFleetOther = true;
  }

  /** Classes of which there is more than there was. */
  #better(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>): void {
    for (const name in after) if ((after[name] ?? 0) > (before[name] ?? 0)) this.#classes.add(name.toLowerCase());
  }

  #note(key: string, facts: string): void {
    if (this.#facts.get(key) === facts) return;
    this.#facts.set(key, facts);
    this.#isFleetOther = true;
  }
}
