import type { Diagnosis, FilterDiagnosis } from '#libs/contracts/messages';
import { FILTER_NAMES } from '../filters/registry';
import { CANDIDATES, type Ranking } from '../ranking/ranking';
import type { Personal } from './personal';

/**
 * Why hosts pass or not, from counts that are kept anyway: each filter with all hosts that it refuses, whether or not
 * another one refuses them, too. `before` begins the summary.
 */
export function diagnose(ranking: Ranking, personal: Personal, hostCount: number, before = ''): Diagnosis {
  const tallies = new Map<string, Tally>();
  const phrases = new Map<string, string>();
  for (const { refusals, hostCount: hosts } of ranking.verdicts) {
    for (const filter of new Set(refusals.map((refusal) => refusal.filter))) tally(tallies, filter).refused += hosts;
    for (const { filter, reason } of refusals) {
      addReason(tally(tallies, filter), reason.symbol, hosts);
      phrases.set(reason.symbol, reason.phrase);
    }
  }
  for (const { filter, kind, hosts, reason } of personal.constraints) {
    const refused = kind === 'only' ? hostCount - hosts.size : hosts.size;
    if (refused === 0) continue;
    tally(tallies, filter).refused += refused;
    addReason(tally(tallies, filter), reason.symbol, refused);
    phrases.set(reason.symbol, reason.phrase);
  }
  const filters = [...tallies].map(([filter, { refused, reasons }]) => ({ filter, refused, reasons }));
  filters.sort((a, b) => ORDER.indexOf(a.filter) - ORDER.indexOf(b.filter));
  const hostsPassed = countPassed(ranking, personal);
  return {
    hostsConsidered: hostCount,
    hostsPassed,
    filters,
    claimConflicts: 0,
    summary: before + summarise(hostCount, hostsPassed, filters, phrases),
  };
}

/** The candidate search has the last word. */
const ORDER = [...FILTER_NAMES, CANDIDATES];

interface Tally {
  refused: number;
  readonly reasons: Record<string, number>;
}

function tally(tallies: Map<string, Tally>, filter: string): Tally {
  const known = tallies.get(filter) ?? { refused: 0, reasons: {} };
  tallies.set(filter, known);
  return known;
}

function addReason({ reasons }: Tally, symbol: string, hosts: number): void {
  reasons[symbol] = (reasons[symbol] ?? 0) + hosts;
}

/** Hosts that pass all filters of both kinds; looks only at hosts that personal constraints name. */
function countPassed(ranking: Ranking, personal: Personal): number {
  const passes = (index: number) => ranking.passes(index);
  if (personal.only) return [...personal.only].filter((index) => passes(index) && personal.allows(index)).length;
  const excepted = new Set(personal.constraints.flatMap(({ hosts }) => [...hosts]));
  return ranking.passedCount - [...excepted].filter(passes).length;
}

const MAX_REASONS = 8;

function summarise(
  hostCount: number,
  passed: number,
  filters: readonly FilterDiagnosis[],
  phrases: ReadonlyMap<string, string>,
): string {
  if (hostCount === 0) return 'there are no hosts';
  const head = `${passed} of ${hostCount} host${hostCount === 1 ? '' : 's'} fit`;
  const reasons = filters.flatMap(({ reasons: counts }) => Object.entries(counts)).sort(byCount);
  const shown = reasons.slice(0, MAX_REASONS).map(([symbol, count]) => `${count} ${phrases.get(symbol)} (${symbol})`);
  if (reasons.length > MAX_REASONS) shown.push(`${reasons.length - MAX_REASONS} more reasons`);
  return shown.length === 0 ? head : `${head}: ${shown.join(', ')}`;
}

/** Most hosts first; equal counts by symbol, so that the sentence does not depend on what happened when. */
function byCount([a, hostsA]: readonly [string, number], [b, hostsB]: readonly [string, number]): number {
  return hostsB - hostsA || (a < b ? -1 : 1);
}
