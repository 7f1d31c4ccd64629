import type { UsageBy } from '../contracts/quotas';
import { type Consumer, heldSince } from '../domain/consumer';
import type { Resources } from '../domain/inventory';
import { daysOfRecord, recordOf } from '../placement/commands/usage/usage-records';
import type { EndedUsage, ProjectUsage } from '../placement/port/placement-store';
import { compareShares, type ShareKey } from './share-key';

type Days = ProjectUsage['days'];

/** All that is known of a project's usage. */
export interface KnownUsage {
  readonly consumers: readonly Consumer[];
  readonly ended: EndedUsage;
  /** Unit-milliseconds by day, as its commits count them. */
  readonly ledger: Days;
}

/**
 * The usage of a project shared out, in the order of `compareShares`. Holdings count as the ledger counts them, to the
 * millisecond. What the ledger has beyond them (of a release that did not record, or beyond the bounds of what is kept) is
 * the share of nobody, all of whose names are ''.
 */
export function sharesOf(
  projectId: string,
  { consumers, ended, ledger }: KnownUsage,
  { by, nowMs }: { readonly by: readonly UsageBy[]; readonly nowMs: number },
): readonly (readonly [ShareKey, Days])[] {
  const shares = new Shares(projectId, by);
  const records = new Set(ended.records.map((one) => `${one.consumerUuid} ${one.fromMs}`));
  for (const record of ended.records) shares.add(record, daysOfRecord(record));
  for (const [day, parts] of Object.entries(ended.parts)) {
    for (const [userId, flavor, amounts] of parts) {
      shares.add({ userId, flavor, consumerUuid: '' }, { [day]: amounts });
    }
  }
  for (const consumer of consumers) {
    const record = recordOf(consumer, nowMs);
    if (record && !records.has(`${consumer.uuid} ${heldSince(consumer)}`)) shares.add(record, daysOfRecord(record));
  }
  shares.addRest(ledger);
  return shares.all();
}

class Shares {
  readonly #shares = new Map<
    string,
    { readonly key: ShareKey; readonly days: Record<string, Record<string, number>> }
  >();
  readonly #sums: Record<string, Record<string, number>> = {};

  constructor(
    private readonly projectId: string,
    private readonly by: readonly UsageBy[],
  ) {}

  add(one: { readonly userId: string; readonly flavor: string; readonly consumerUuid: string }, days: Days): void {
    const said = (name: UsageBy, value: string) => (this.by.includes(name) ? value : '');
    const key: ShareKey = {
      projectId: this.projectId,
      userId: said('user', one.userId),
      flavor: said('flavor', one.flavor),
      instanceUuid: said('instance', one.consumerUuid),
    };
    const text = JSON.stringify(key);
    const share = this.#shares.get(text) ?? { key, days: {} };
    this.#shares.set(text, share);
    for (const [day, amounts] of Object.entries(days)) {
      addTo((share.days[day] ??= {}), amounts);
      addTo((this.#sums[day] ??= {}), amounts);
    }
  }

  addRest(ledger: Days): void {
    for (const [day, amounts] of Object.entries(ledger)) {
      const rest = Object.entries(amounts).map(
        ([name, total]) => [name, total - (this.#sums[day]?.[name] ?? 0)] as const,
      );
      const left = rest.filter(([, unitMs]) => unitMs > 0);
      if (left.length > 0) this.add(NOBODY, { [day]: Object.fromEntries(left) });
    }
  }

  all(): readonly (readonly [ShareKey, Days])[] {
    const shares = [...this.#shares.values()].sort((a, b) => compareShares(a.key, b.key));
    return shares.map(({ key, days }) => [key, days]);
  }
}

const NOBODY = { userId: '', flavor: '', consumerUuid: '' };

function addTo(sum: Record<string, number>, amounts: Resources): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name] = (sum[name] ?? 0) + amount;
}
