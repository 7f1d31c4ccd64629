import type { Diagnosis } from '#libs/contracts/messages';
import { type Random, randomInt } from '#libs/domain/random';
import type { Candidate } from '#libs/placement/candidates/query';
import type { Fleet } from '../fleet/fleet';
import type { HostState } from '../fleet/host-state';
import type { PendingClaim } from '../fleet/pending-claims';
import type { Ranking } from '../ranking/ranking';
import { type Step, Walk } from '../ranking/walk';
import type { SelectSettings } from '../settings';
import { diagnose } from './diagnose';
import { Personal } from './personal';
import type { PlacementRequest } from './placement-request';

/** A host, and what an instance takes there. */
export interface Place {
  readonly host: HostState;
  readonly candidate: Candidate;
}

export interface Pick extends Place {
  readonly instanceUuid: string;
}

export type Picks =
  | { readonly kind: 'picked'; readonly picks: readonly Pick[]; readonly pending: readonly PendingClaim[] }
  | { readonly kind: 'refused'; readonly diagnosis: Diagnosis };

/** Hosts are drawn among the best as long as they weigh no less than the best by this: a tenth of one usual weight. */
const NEARLY = 0.1;

/** Picks hosts for the instances of one request, each as if those before were placed. */
export class Picker {
  private readonly picks: Pick[] = [];
  private readonly pending: PendingClaim[] = [];
  private present: Walk | undefined;

  constructor(
    readonly fleet: Fleet,
    readonly request: PlacementRequest,
    readonly ranking: Ranking,
    readonly random: Random,
    private readonly settings: SelectSettings,
  ) {}

  /** A host for each, held as a pending claim; or, when one finds none, for none of them. */
  pickAll(instanceUuids: readonly string[]): Picks {
    // An affinity group's instances go together; all others one by one.
    const atOnce = this.ranking.shape.together;
    while (this.picks.length < instanceUuids.length) {
      const waiting = instanceUuids.slice(this.picks.length, this.picks.length + atOnce);
      const index = this.pickOne(this.walk(), waiting);
      if (index === undefined) return this.refuse(instanceUuids.length);
      this.present?.again(index);
    }
    return { kind: 'picked', picks: this.picks, pending: this.pending };
  }

  /**
   * The best hosts but for one that an instance has already, as if all picks were placed and this instance were not.
   * Nothing is held.
   */
  bestBeside(index: number, count: number, isWanted: (host: HostState) => boolean): Place[] {
    this.request.members?.remove(index);
    const walk = this.walk();
    const seen: number[] = [];
    const places: Place[] = [];
    for (let step = walk.next(); step !== undefined; step = walk.next()) {
      seen.push(step.index);
      const host = this.fleet.at(step.index) as HostState;
      const candidate = step.index !== index && isWanted(host) ? this.ranking.candidateOn(host) : undefined;
      if (candidate && places.push({ host, candidate }) === count) break;
    }
    for (const one of seen) walk.again(one);
    this.request.members?.add(index);
    return places;
  }

  /** Hosts best first. In a group each pick changes what the next one may have and how it weighs: a new walk each time. */
  private walk(): Walk {
    if (this.request.members) return new Walk(this.ranking, this.personal(), this.random);
    this.present ??= new Walk(this.ranking, this.personal(), this.random);
    return this.present;
  }

  /** What the request asks beyond its shape, as of the picks made so far. */
  private personal(): Personal {
    return new Personal(this.request, this.settings.personalFilters, this.settings);
  }

  private refuse(instanceCount: number): Picks {
    const placed = this.picks.length;
    const before = placed === 0 ? '' : `room for ${placed} of ${instanceCount} instances, then `;
    const diagnosis = diagnose(this.ranking, this.personal(), this.fleet.hostCount, before);
    this.putBack(0);
    return { kind: 'refused', diagnosis };
  }

  /** Takes one of the best hosts for all that wait together; undefined when no host is left. */
  private pickOne(walk: Walk, waiting: readonly string[]): number | undefined {
    const best: Step[] = [];
    for (;;) {
      this.drawBest(walk, best);
      const [drawn] = best.splice(randomInt(this.random, best.length), 1);
      if (!drawn) return undefined;
      if (!this.hold(drawn.index, waiting)) continue;
      for (const { index } of best) walk.again(index);
      return drawn.index;
    }
  }

  private drawBest(walk: Walk, best: Step[]): void {
    while (best.length < this.settings.hostSubsetSize) {
      const step = walk.next();
      if (!step) return;
      const first = best[0] ?? step;
      if (step.weight < first.weight - NEARLY) return walk.again(step.index);
      best.push(step);
    }
  }

  /** Holds the host for all that wait, or for none. */
  private hold(index: number, waiting: readonly string[]): boolean {
    const { fleet, ranking, request } = this;
    const before = this.picks.length;
    for (const instanceUuid of waiting) {
      const host = fleet.at(index) as HostState;
      const candidate = ranking.candidateOn(host);
      if (!candidate) {
        this.putBack(before);
        return false;
      }
      const { rootUuid, allocations } = candidate;
      const claim = { consumerUuid: instanceUuid, rootUuid, allocations, groupId: request.spec.group?.id };
      this.picks.push({ instanceUuid, host, candidate });
      this.pending.push(claim);
      request.members?.add(index);
      fleet.hold(claim);
    }
    ranking.refresh();
    return true;
  }

  /** Gives back what was held since there were `count` picks. */
  private putBack(count: number): void {
    for (const { host } of this.picks.splice(count)) this.request.members?.remove(host.index);
    this.fleet.settle(this.pending.splice(count));
  }
}
