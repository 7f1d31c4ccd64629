import type { ConsumerWrite, RefusedCommit } from '../../port/placement-store';
import type { KeptRoom, Stored, TableName } from '../tables';
import type { Guard, Proposal, Write } from '../transaction';
import type { MemberCounters } from './group-counters';
import type { ClaimTables, ClaimView, Seen } from './view';

/** The terms of a claim. */
export interface ClaimTerms {
  readonly atMs: number;
  /** Takes what does not fit, and where a group's policy forbids. */
  readonly force: boolean;
  /** Refuses forced amounts above the total of a provider. */
  readonly withinTotal?: boolean;
  /** Refuses what would exceed a quota, forced or not. */
  readonly withinQuota: boolean;
  /** As of `WriteAllocations`. */
  readonly besides?: readonly string[] | undefined;
  /** As of `WriteAllocations`. */
  readonly admissionTurn?: number | undefined;
}

/** A proposal in the making: its guards so far, and what its earlier parts give back and take. */
export class Draft {
  readonly guards: Guard[] = [];
  /** By provider, what is kept there, with the changes of this claim so far. */
  readonly #kept = new Map<string, KeptRoom>();
  /** By provider and class, how much more is taken than given back so far. */
  readonly #moved = new Map<string, Record<string, number>>();
  readonly #counts = new Map<string, number>();
  readonly #read = new Map<string, Set<string>>();

  constructor(
    private readonly view: ClaimView,
    readonly terms: ClaimTerms,
    /** The consumers of the claim. */
    readonly own: ReadonlySet<string>,
  ) {}

  /** Reads a row which must be the same when the claim is committed. */
  read<T extends keyof ClaimTables & TableName>(table: T, key: string): ClaimTables[T] | undefined {
    const stored = this.view.get(table, key);
    let read = this.#read.get(table);
    if (!read) this.#read.set(table, (read = new Set()));
    if (!read.has(key)) {
      read.add(key);
      this.guards.push({ kind: 'row', table, key, stored });
    }
    return stored?.row;
  }

  /** Nominations and reservations on a provider, with the changes of this claim so far. */
  keptOn(providerUuid: string): KeptRoom | undefined {
    return this.#kept.get(providerUuid) ?? this.read('nomination', providerUuid);
  }

  /** Keeps something on a provider, in the place of what is kept there under its key. */
  keep(providerUuid: string, key: string, kept: KeptRoom[string]): void {
    this.#kept.set(providerUuid, { ...this.keptOn(providerUuid), [key]: kept });
  }

  /** Reads a row which may change before the commit: bounds guard what follows from it. */
  glance<T extends keyof ClaimTables & TableName>(table: T, key: string): Seen<ClaimTables[T]> | undefined {
    return this.view.get(table, key);
  }

  /** A group's count under a name, with the changes of this claim so far. */
  count(name: string, group: string): number {
    return this.view.count(name, group) + (this.#counts.get(name) ?? 0);
  }

  /** Bounds a counter, with the changes of this claim so far. */
  bound(
    group: string,
    name: string,
    bounds: { readonly least?: number; readonly most?: number },
    refusal?: RefusedCommit,
  ): void {
    const changed = this.#counts.get(name) ?? 0;
    const { least, most } = bounds;
    this.guards.push({
      kind: 'count',
      name,
      group,
      ...(least === undefined ? {} : { least: least - changed }),
      ...(most === undefined ? {} : { most: most - changed }),
      ...(refusal === undefined ? {} : { refusal: () => refusal }),
    });
  }

  /** Bounds an amount in use, with the changes of this claim so far. */
  boundUsage(
    providerUuid: string,
    name: string,
    most: number,
    refusal: (usage: Stored<ClaimTables['usage']> | undefined) => RefusedCommit,
  ): void {
    const moved = this.moved(providerUuid)[name] ?? 0;
    this.guards.push({ kind: 'amount', table: 'usage', key: providerUuid, name, most: most - moved, refusal });
  }

  move(providerUuid: string, name: string, by: number): void {
    const moved = this.moved(providerUuid);
    moved[name] = (moved[name] ?? 0) + by;
  }

  moved(providerUuid: string): Record<string, number> {
    let moved = this.#moved.get(providerUuid);
    if (!moved) this.#moved.set(providerUuid, (moved = {}));
    return moved;
  }

  countMember({ names }: MemberCounters, by: number): void {
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  /** Refused, if all that was read is still so. */
  refuse(refusal: RefusedCommit): Proposal {
    return { guards: this.guards, writes: [], refusal };
  }

  /** The writes of all that was moved, kept and counted. */
  moves(): Write[] {
    const writes: Write[] = [];
    for (const [key, moved] of this.#moved) {
      const amounts = Object.entries(moved).filter(([, by]) => by !== 0);
      writes.push({ kind: 'add', table: 'usage', key, amounts });
    }
    for (const [key, row] of this.#kept) writes.push({ kind: 'put', table: 'nomination', key, row });
    for (const [name, by] of this.#counts) if (by !== 0) writes.push({ kind: 'count', name, by });
    return writes;
  }
}

/** True when a consumer is to hold nothing any more. */
export function isEmpty({ allocations }: Pick<ConsumerWrite, 'allocations'>): boolean {
  for (const _ in allocations) return false;
  return true;
}
