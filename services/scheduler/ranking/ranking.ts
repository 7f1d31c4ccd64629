import type { Candidate } from '#libs/placement/candidates/query';
import { needsSearch, searchOn } from '../candidates/search-on';
import type { Check, FilterSettings, Reason, ShapeFilter } from '../filters/filter';
import type { Columns } from '../fleet/columns';
import type { Fleet } from '../fleet/fleet';
import type { HostState } from '../fleet/host-state';
import type { Weights } from '../weighers/registry';
import type { Shape } from './shape';
import { NOTHING, Tournament } from './tournament';
import { PASSES, type Refusal, Verdicts } from './verdicts';
import { Weighing } from './weighing';

/** What a ranking needs to know besides the shape and the fleet. */
export interface RankingSettings extends FilterSettings, Weights {
  /** The filters in use, in order. */
  readonly shapeFilters: readonly ShapeFilter[];
}

/**
 * All hosts, judged and ranked for one request shape, and kept so.
 *
 * The naive way runs every filter on every host for every request: half a second of a decision at 1,000 hosts in Nova,
 * and more with each host that joins. But two requests of one shape see the same fleet with a few hosts changed: those
 * that were claimed on, or reported. So the verdict and the weight of each host are kept, `refresh` runs filters and
 * weighers on hosts that changed since, and the best host is at the root of a tournament. A decision costs a few
 * microseconds at any size of the fleet; a new shape costs the naive way, once. What it takes: that verdict and weight of
 * a host depend on that host and the shape alone (hence fixed bounds for weights), and 12 bytes a host.
 *
 * Hosts with nested or shared providers pass the filters first, and the search for candidates, which is dear, is done
 * when a host is about to be taken; that it has none is then part of its verdict, until the host changes.
 */
export class Ranking {
  readonly tournament: Tournament;
  readonly verdicts = new Verdicts();
  private readonly checks: readonly PreparedCheck[];
  private readonly weighing: Weighing;
  private readonly verdictOf: Int32Array;
  private readonly columns: Columns;
  private readonly layout: number;
  private seen: number;

  /** Judges the whole fleet, which must be fresh. */
  constructor(
    readonly shape: Shape,
    private readonly fleet: Fleet,
    settings: RankingSettings,
  ) {
    this.columns = fleet.columns;
    this.layout = fleet.columns.layout;
    this.seen = fleet.changes.version;
    this.checks = settings.shapeFilters.flatMap((filter) =>
      filter.prepare(shape, this.columns, settings).map((check) => ({ filter: filter.name, check })),
    );
    this.weighing = new Weighing(shape, this.columns, settings);
    this.verdictOf = new Int32Array(this.columns.size).fill(NOBODY);
    this.tournament = new Tournament(this.columns.size);
    this.tournament.fill(fleet.indexCount, (index) => this.judge(index));
  }

  /** False when the fleet's columns were laid out anew: then the ranking is of no more use. */
  get isCurrent(): boolean {
    return this.columns === this.fleet.columns && this.layout === this.columns.layout;
  }

  /** Judges the hosts that changed since the last time. */
  refresh(): void {
    this.fleet.changes.forEachSince(this.seen, (index) => this.tournament.set(index, this.judge(index)));
    this.seen = this.fleet.changes.version;
  }

  passes(index: number): boolean {
    return this.verdictOf[index] === PASSES;
  }

  get passedCount(): number {
    return this.verdicts.countOf(PASSES);
  }

  /** What an instance would take from a host that passes; undefined when the search finds nothing, and then it passes no more. */
  candidateOn(host: HostState): Candidate | undefined {
    const { shape, fleet } = this;
    const candidate = needsSearch(shape, host)
      ? searchOn(fleet.viewWithPending, shape, host)
      : fleet.flatCandidates.on(host, shape.resources);
    if (!candidate) this.setVerdict(host.index, this.verdicts.extend(PASSES, CANDIDATES, NO_CANDIDATE));
    return candidate;
  }

  /** Each weigher's part in the weight of a host, whether or not it passes. */
  sharesOf(host: HostState): Record<string, number> {
    return this.weighing.sharesOf(host);
  }

  /** Every refusal of a host by shape filters and the candidate search, with a sentence. */
  explain(host: HostState): (Refusal & { readonly sentence: string })[] {
    const refusals = this.checks.flatMap(({ filter, check }) => {
      const reason = check.refuse(host);
      return reason ? [{ filter, reason, sentence: check.describe(host) }] : [];
    });
    if (refusals.length > 0 || !needsSearch(this.shape, host) || this.candidateOn(host)) return refusals;
    return [
      {
        filter: CANDIDATES,
        reason: NO_CANDIDATE,
        sentence: 'no providers of the host give all groups what they ask',
      },
    ];
  }

  /** Notes the verdict; answers with the weight of a host that passes, else NOTHING. */
  private judge(index: number): number {
    const before = this.verdictOf[index] as number;
    if (before !== NOBODY) this.verdicts.count(before, -1);
    const host = this.fleet.at(index);
    const verdict = host ? this.verdict(host) : NOBODY;
    this.verdictOf[index] = verdict;
    if (verdict === NOBODY) return NOTHING;
    this.verdicts.count(verdict, 1);
    return host && verdict === PASSES ? this.weighing.weightOf(host) : NOTHING;
  }

  private verdict(host: HostState): number {
    let verdict = PASSES;
    for (const { filter, check } of this.checks) {
      const reason = check.refuse(host);
      if (reason !== undefined) verdict = this.verdicts.extend(verdict, filter, reason);
    }
    return verdict;
  }

  private setVerdict(index: number, verdict: number): void {
    this.verdicts.count(this.verdictOf[index] as number, -1);
    this.verdicts.count(verdict, 1);
    this.verdictOf[index] = verdict;
    this.tournament.set(index, NOTHING);
  }
}

interface PreparedCheck {
  readonly filter: string;
  readonly check: Check;
}

/** No host has this index. */
const NOBODY = -1;

/** What stands for the candidate search in a diagnosis, beside the filters. */
export const CANDIDATES = 'candidates';

const NO_CANDIDATE: Reason = { symbol: 'no_candidate', phrase: 'have no providers that give all groups what they ask' };
