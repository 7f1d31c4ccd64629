import { type Broken, broken, type Maps, withEntry, withoutEntry } from './step';

/** Amounts by `<provider> <class>`. */
export type Amounts = Readonly<Record<string, number>>;

/** Allocations of a consumer, and their claim. */
export interface Holding {
  readonly owner: string;
  readonly project: string;
  readonly type: string;
  readonly holds: Amounts;
  readonly token: number;
}

/** Condition on the holding as it is: none, that there is none, or that it is of this claim. */
export type Expected =
  | { readonly kind: 'any' | 'absent' | 'generation' }
  | { readonly kind: 'claim'; readonly token: number };

export interface Write extends Omit<Holding, 'token'> {
  readonly uuid: string;
  readonly expects: Expected;
}

export type ClaimStep =
  /** All writes or none; the token is the commit's. Forced writes may exceed a capacity. */
  | { readonly kind: 'write'; readonly writes: readonly Write[]; readonly isForced: boolean; readonly token: number }
  /** Capacities of a provider from now on, by `<provider> <class>`; classes that are left out have none. */
  | { readonly kind: 'offer'; readonly provider: string; readonly capacity: Amounts }
  /** The store counts so much in use of a provider. */
  | { readonly kind: 'count'; readonly provider: string; readonly used: Amounts };

/**
 * Holdings, and the capacities that they are taken of. `bound` is the capacity, or what was in use when a capacity shrank or a
 * claim was forced, whichever is more: use may stay there or fall, and never rises.
 */
export interface Claims {
  readonly holdings: Maps<Holding>;
  readonly capacity: Amounts;
  readonly bound: Amounts;
  readonly lastToken: number;
}

export const NO_CLAIMS: Claims = { holdings: {}, capacity: {}, bound: {}, lastToken: 0 };

/**
 * A claim replaces what its consumers hold. Escrow (O'Neil 1986): it is guarded by the amount that is left, not by a version, so
 * concurrent claims never fail each other for nothing. A release is a write of nothing that expects its own claim.
 */
export function stepClaims(claims: Claims, step: ClaimStep): Claims | Broken {
  if (step.kind === 'offer') return offer(claims, step.provider, step.capacity);
  if (step.kind === 'count') return counted(claims, step.provider, step.used) ?? claims;
  const { writes, isForced, token } = step;
  if (token <= claims.lastToken) return broken(`claim ${token} is not after claim ${claims.lastToken}`);
  for (const write of writes) {
    const wrong = wrongOf(write, claims.holdings[write.uuid]);
    if (wrong !== undefined) return broken(`${write.uuid}: ${wrong}`);
  }
  let { holdings } = claims;
  for (const { uuid, expects: _, ...held } of writes) {
    const isHeld = Object.keys(held.holds).length > 0;
    holdings = isHeld ? withEntry(holdings, uuid, { ...held, token }) : withoutEntry(holdings, uuid);
  }
  const [before, after] = [usedOf(claims.holdings), usedOf(holdings)];
  const more = Object.keys(after).filter((key) => (after[key] ?? 0) > (before[key] ?? 0));
  const above = more.find((key) => (after[key] ?? 0) > (claims.capacity[key] ?? 0));
  if (above !== undefined && !isForced) {
    return broken(`${after[above]} of ${above} would be in use, above its capacity of ${claims.capacity[above] ?? 0}`);
  }
  return bounded({ ...claims, holdings, lastToken: token }, after);
}

/** The owner decides alone about a holding, and a claim's holder only about that claim. */
function wrongOf(write: Write, old: Holding | undefined): string | undefined {
  if (old && old.owner !== write.owner) return `${write.owner} writes what is ${old.owner}'s`;
  const isNamed = old?.project === write.project || (write.project === '' && Object.keys(write.holds).length === 0);
  if (old && write.owner === 'conductor' && (old.type !== write.type || !isNamed)) {
    return `what is a ${old.type} of ${old.project} is written as a ${write.type} of ${write.project}`;
  }
  if (write.expects.kind === 'absent' && old) return 'there is a holding where none was expected';
  if (write.expects.kind !== 'claim' || old?.token === write.expects.token) return undefined;
  return `claim ${old?.token ?? 'none'} is there, not claim ${write.expects.token}`;
}

function offer(claims: Claims, provider: string, offered: Amounts): Claims {
  const others = Object.entries(claims.capacity).filter(([key]) => !key.startsWith(`${provider} `));
  return bounded({ ...claims, capacity: { ...Object.fromEntries(others), ...offered } }, usedOf(claims.holdings));
}

function counted({ holdings }: Claims, provider: string, used: Amounts): Broken | undefined {
  const held = usedOf(holdings);
  const keys = [...Object.keys(held), ...Object.keys(used)].filter((key) => key.startsWith(`${provider} `));
  const wrong = keys.find((key) => (held[key] ?? 0) !== (used[key] ?? 0));
  return wrong === undefined
    ? undefined
    : broken(`${used[wrong] ?? 0} of ${wrong} are counted, ${held[wrong] ?? 0} held`);
}

function bounded(claims: Claims, used: Amounts): Claims {
  const keys = [...new Set([...Object.keys(claims.capacity), ...Object.keys(used)])];
  const bound = Object.fromEntries(keys.map((key) => [key, Math.max(claims.capacity[key] ?? 0, used[key] ?? 0)]));
  return { ...claims, bound };
}

/** The sum of what is held. */
export function usedOf(holdings: Maps<Holding>): Amounts {
  const used: Record<string, number> = {};
  for (const { holds } of Object.values(holdings)) {
    for (const [key, amount] of Object.entries(holds)) used[key] = (used[key] ?? 0) + amount;
  }
  return used;
}

/** Invariant after each step, unless it was forced or an offer: no use rises above a capacity, no claim is another's. */
export function wrongWithClaims(before: Claims, after: Claims, step: ClaimStep): string | undefined {
  if (step.kind !== 'write' || step.isForced) return undefined;
  const used = usedOf(after.holdings);
  const above = Object.keys(used).find((key) => (used[key] ?? 0) > (before.bound[key] ?? 0));
  if (above !== undefined) return `${used[above]} of ${above} are in use; ${before.bound[above] ?? 0} may be`;
  const named = step.writes.filter(({ expects }) => expects.kind === 'claim');
  const lost = named.find(({ uuid, expects }) => {
    const old = before.holdings[uuid];
    return old && expects.kind === 'claim' && old.token !== expects.token && after.holdings[uuid]?.token !== old.token;
  });
  return lost && `a late release of ${lost.uuid} took a newer claim`;
}
