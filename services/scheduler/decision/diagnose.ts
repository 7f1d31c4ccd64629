import type { Diagnosis, FilterDiagnosis } from '#libs/contracts/diagnosis';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import { counted } from '#libs/runtime/counted';
import { FILTER_NAMES } from '../filters/registry';
import type { RefusedClaims } from '../fleet/located-request';
import { CANDIDATES } from '../ranking/candidates';
import type { Feasibility } from '../ranking/ranked-host';
import {
  CLAIM,
  CLAIM_REFUSED,
  CONFIRMATION,
  GUARANTEE,
  HOST_UNCONFIRMED,
  RESERVATION,
} from '../ranking/request-constraints';

/**
 * Why hosts are feasible or not: each filter with all hosts that it refuses, whether or not another one refuses them, too.
 * `quotaExceeded` are the limits that the quota filter names; `before` says how many of how many instances were placed before there was no host.
 */
export function diagnose(
  { hostCount, feasibleCount, refusals }: Feasibility,
  quotaExceeded: readonly QuotaExcess[] = [],
  before: { readonly placed: number; readonly of: number } = { placed: 0, of: 1 },
): Diagnosis {
  const filters: FilterDiagnosis[] = [];
  const phrases = new Map<string, string>();
  for (const [filter, { hostCount: refused, reasons }] of refusals.byFilter) {
    const counts = [...reasons].map(([symbol, reason]) => [symbol, reason.hostCount] as const);
    filters.push({ filter, refused, reasons: Object.fromEntries(counts) });
    for (const [symbol, { phrase }] of reasons) phrases.set(symbol, phrase);
  }
  filters.sort((a, b) => ORDER.indexOf(a.filter) - ORDER.indexOf(b.filter));
  const placed = before.placed === 0 ? '' : `room for ${before.placed} of ${counted(before.of, 'instance')}, then `;
  return {
    hostsConsidered: hostCount,
    hostsPassed: feasibleCount,
    filters,
    claimConflicts: 0,
    summary: placed + summarise(hostCount, feasibleCount, filters, phrases),
    quotaExceeded,
  };
}

/** The candidate search, then reservations, guarantees, the store, and the host has the last word. */
const ORDER = [...FILTER_NAMES, CANDIDATES, RESERVATION, GUARANTEE, CLAIM, CONFIRMATION];

/** Why a request ended whose claims the store went on refusing: by the hosts that it refused, and its last words. */
export function diagnoseRefusedClaims(
  refusedClaims: RefusedClaims,
  hostCount: number,
  claimConflicts: number,
): Diagnosis {
  const { symbol, phrase } = CLAIM_REFUSED;
  const refused = refusedClaims.size;
  const last = [...refusedClaims.values()].at(-1);
  return {
    hostsConsidered: hostCount,
    hostsPassed: 0,
    filters: [{ filter: CLAIM, refused, reasons: { [symbol]: refused } }],
    claimConflicts,
    summary: `after ${counted(claimConflicts, 'attempt')}: ${refused} ${phrase} (${symbol}), the last for ${last}`,
    quotaExceeded: [],
  };
}

/** Why a request ended whose hosts went on not confirming it. */
export function diagnoseUnconfirmed(unconfirmed: RefusedClaims, hostCount: number, rounds: number): Diagnosis {
  const { symbol, phrase } = HOST_UNCONFIRMED;
  const refused = unconfirmed.size;
  const last = [...unconfirmed.values()].at(-1);
  return {
    hostsConsidered: hostCount,
    hostsPassed: 0,
    filters: [{ filter: CONFIRMATION, refused, reasons: { [symbol]: refused } }],
    claimConflicts: 0,
    summary: `after ${counted(rounds, 'round')}: ${refused} ${phrase} (${symbol}), the last for ${last}`,
    quotaExceeded: [],
  };
}

const MAX_REASONS = 8;

function summarise(
  hostCount: number,
  passed: number,
  filters: readonly FilterDiagnosis[],
  phrases: ReadonlyMap<string, string>,
): string {
  if (hostCount === 0) return 'there are no hosts';
  const head = `${passed} of ${counted(hostCount, 'host')} ${passed === 1 ? 'fits' : 'fit'}`;
  const reasons = filters.flatMap(({ reasons: counts }) => Object.entries(counts)).sort(byCount);
  const shown = reasons
    .slice(0, MAX_REASONS)
    .map(([symbol, count]) => `${count} ${agreeing(count, phrases.get(symbol) ?? '')} (${symbol})`);
  if (reasons.length > MAX_REASONS) shown.push(counted(reasons.length - MAX_REASONS, 'more reason'));
  return shown.length === 0 ? head : `${head}: ${shown.join(', ')}`;
}

/** A phrase for many hosts, for one host if there is one: `is disabled`. */
export function agreeing(count: number, phrase: string): string {
  return count === 1 ? phrase.replace(/^\w+/, (verb) => SINGULARS[verb] ?? verb) : phrase;
}

const SINGULARS: Readonly<Record<string, string>> = {
  are: 'is',
  do: 'does',
  give: 'gives',
  have: 'has',
  lack: 'lacks',
  run: 'runs',
};

/** Most hosts first; equal counts by symbol, so that the sentence does not depend on what happened when. */
function byCount([a, hostsA]: readonly [string, number], [b, hostsB]: readonly [string, number]): number {
  return hostsB - hostsA || (a < b ? -1 : 1);
}
