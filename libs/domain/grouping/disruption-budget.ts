import { BerthError } from '../errors';
import type { InstanceRow, InstanceState } from '../instance';

/**
 * A disruption budget in the metadata of a stored group (Kubernetes' PodDisruptionBudget): `min_available` members stay
 * available, or at most `max_unavailable` are not, as whole numbers or percentages. It binds disruptions that Berth or an
 * operator may choose: preemption and cold migration. A dead host asks nobody, and owners do with their instances as they like.
 */
export type BudgetMetadata = Readonly<Record<string, string>>;

const KEYS = ['min_available', 'max_unavailable'] as const;
const AMOUNT = /^\d{1,6}$/;
const PERCENTAGE = /^(\d{1,2}|100)%$/;

/** States in which a member serves: a live migration does not interrupt it. */
const AVAILABLE: readonly InstanceState[] = ['active', 'verify_resize', 'migrating'];

/** True for a member that serves. One whose cold migration is claimed with others, and waits for its turn, runs at its source. */
export function isAvailable({ state, migration, formerState }: InstanceRow): boolean {
  const waitsForTurn = state === 'resize' && migration?.phase === 'claimed' && formerState === undefined;
  return AVAILABLE.includes(state) || waitsForTurn;
}

/** The least of a group's members that must be available; undefined without a budget, NaN for one that can't be read. */
export function leastAvailable(metadata: BudgetMetadata, memberCount: number): number | undefined {
  const [min, max] = KEYS.map((key) => amountOf(own(metadata, key), memberCount));
  if (min === undefined && max === undefined) return undefined;
  return Math.max(min ?? 0, memberCount - (max ?? memberCount));
}

/** The key whose value is neither an amount nor a percentage; undefined when all can be read. */
export function unreadableBudget(metadata: BudgetMetadata): (typeof KEYS)[number] | undefined {
  return KEYS.find((key) => Number.isNaN(amountOf(own(metadata, key), 1)));
}

/** True for the refusal of a disruption (`disruption_budget`): the budget may allow it later. */
export function isOverBudget(thrown: unknown): boolean {
  return BerthError.from(thrown).reason === 'disruption_budget';
}

/** The metadata of a budget, as an operator wrote it: `min_available=2`. */
export function budgetText(metadata: BudgetMetadata): string {
  return KEYS.filter((key) => own(metadata, key) !== undefined)
    .map((key) => `${key}=${metadata[key]}`)
    .join(' ');
}

/** A percentage is rounded up, as in Kubernetes; NaN for text that is no amount. */
function amountOf(text: string | undefined, memberCount: number): number | undefined {
  if (text === undefined) return undefined;
  if (AMOUNT.test(text)) return Number(text);
  const [, percent] = PERCENTAGE.exec(text) ?? [];
  return percent === undefined ? Number.NaN : Math.ceil((memberCount * Number(percent)) / 100);
}

function own(metadata: BudgetMetadata, key: string): string | undefined {
  return Object.hasOwn(metadata, key) ? metadata[key] : undefined;
}
