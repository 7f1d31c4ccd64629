import { type Random, randomInt } from '#libs/domain/random';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import type { NovaFacts, NovaNode } from '../facts/nova-facts';
import type { FilterContext, FilterSettings, HostFilter } from '../filters/filter';
import { namedHosts } from '../filters/named-hosts';
import type { NovaRequest } from '../request/nova-request';
import { type Weighing, weighHosts } from '../weighers/weigher';
import { filterHosts, Refusals } from './filter-hosts';
import { fittingCandidate, type HostState, hostState } from './host-state';
import { locateInstances } from './locate-instances';
import { UsageOverlay } from './usage-overlay';

/** Settings of a decision, by their names in nova.conf. */
export interface PlaceSettings extends FilterSettings {
  readonly filters: readonly HostFilter[];
  readonly weighings: readonly Weighing[];
  readonly hostSubsetSize: number;
  readonly shuffleBestSameWeighedHosts: boolean;
}

/** What a decision is made on. */
export interface PlaceInput {
  readonly request: NovaRequest;
  /** An instance for each place; undefined for callers that name none, for which nothing is claimed. */
  readonly instanceUuids: readonly (string | undefined)[];
  /** Nodes with the ways to claim there; none where nothing is claimed. */
  readonly hosts: readonly { readonly node: NovaNode; readonly candidates: readonly Candidate[] }[];
  /** Instances that hold a claim for what is asked, which they keep. */
  readonly held: ReadonlyMap<string, Pick>;
  readonly view: PlacementView;
  readonly facts: NovaFacts;
  /** Claims on their way. */
  readonly inFlight: UsageOverlay;
  /** Most alternates of an instance. */
  readonly alternateCount: number;
}

/** A host for an instance, and the way to claim there; undefined where nothing is claimed. */
export interface Pick {
  readonly node: NovaNode;
  readonly candidate: Candidate | undefined;
}

export interface Placed {
  readonly instanceUuid: string | undefined;
  readonly pick: Pick;
  readonly isHeld: boolean;
  readonly alternates: readonly Pick[];
}

export type PlaceResult =
  | { readonly kind: 'placed'; readonly placed: readonly Placed[] }
  | { readonly kind: 'refused'; readonly placedCount: number; readonly refusals: Refusals };

/**
 * A host for each instance of a request, one after the other as if those before ran there, or none and why; then alternates: hosts of
 * the same cell that no instance got, best first.
 */
export function placeInstances(input: PlaceInput, random: Random, settings: PlaceSettings): PlaceResult {
  const run = new Placing(input, random, settings);
  const picks: { instanceUuid: string | undefined; pick: Pick; isHeld: boolean }[] = [];
  for (const instanceUuid of input.instanceUuids) {
    const held = instanceUuid === undefined ? undefined : input.held.get(instanceUuid);
    const refusals = new Refusals();
    const pick = held ?? run.pickFor(instanceUuid, refusals);
    if (pick === undefined) return { kind: 'refused', placedCount: picks.length, refusals };
    run.assume(instanceUuid, pick, held === undefined);
    picks.push({ instanceUuid, pick, isHeld: held !== undefined });
  }
  const spares = input.alternateCount > 0 ? run.spares(picks.map(({ pick }) => pick)) : [];
  const placed = picks.map((one) => {
    const sameCell = spares.filter(({ node }) => node.cellUuid === one.pick.node.cellUuid);
    return { ...one, alternates: sameCell.slice(0, input.alternateCount) };
  });
  return { kind: 'placed', placed };
}

class Placing {
  readonly #taken: UsageOverlay;
  readonly #placedOn = new Map<string, string>();
  readonly #placedCounts = new Map<string, number>();
  readonly #placedHosts = new Set<string>();
  readonly #hosts: readonly HostState[];

  constructor(
    private readonly input: PlaceInput,
    private readonly random: Random,
    private readonly settings: PlaceSettings,
  ) {
    this.#taken = new UsageOverlay(input.inFlight);
    const sources = { ...input, taken: this.#taken, placed: this.#placedCounts };
    this.#hosts = input.hosts.map(({ node, candidates }) => hostState(node, candidates, sources));
  }

  pickFor(instanceUuid: string | undefined, refusals: Refusals): Pick | undefined {
    const [best] = this.#sorted(instanceUuid, refusals);
    return best;
  }

  assume(instanceUuid: string | undefined, { node, candidate }: Pick, isNew: boolean): void {
    if (isNew && candidate !== undefined) this.#taken.add(candidate.allocations);
    if (instanceUuid !== undefined) this.#placedOn.set(instanceUuid, node.uuid);
    if (isNew) this.#placedCounts.set(node.uuid, (this.#placedCounts.get(node.uuid) ?? 0) + 1);
    this.#placedHosts.add(node.host);
  }

  spares(picked: readonly Pick[]): Pick[] {
    const taken = new Set(picked.map(({ node }) => node.uuid));
    const last = this.input.instanceUuids.at(-1);
    return this.#sorted(last, new Refusals()).filter(({ node }) => !taken.has(node.uuid));
  }

  /** Hosts that pass and have a way to claim, best first. */
  #sorted(instanceUuid: string | undefined, refusals: Refusals): Pick[] {
    const { request, view, facts } = this.input;
    const { filters, weighings } = this.settings;
    const context: FilterContext = {
      request,
      instanceUuid,
      locate: locateInstances(view, facts, this.#placedOn),
      placedHosts: this.#placedHosts,
      settings: this.settings,
    };
    const passing = filterHosts(this.#hosts, namedHosts(request), filters, context, refusals);
    const weighed = this.#shuffled(weighHosts(passing, weighings, context));
    return weighed.flatMap(({ host }) => {
      const candidate = fittingCandidate(host, { view, taken: this.#taken });
      if (host.candidates.length === 0 || candidate !== undefined) return { node: host.node, candidate };
      refusals.add('placement', 'claims on their way take it');
      return [];
    });
  }

  /** One of the best few comes first, so that schedulers choose differently. */
  #shuffled(weighed: { readonly host: HostState; readonly weight: number }[]) {
    const { hostSubsetSize, shuffleBestSameWeighedHosts } = this.settings;
    const best = weighed[0]?.weight;
    const equal = shuffleBestSameWeighedHosts ? weighed.filter(({ weight }) => weight === best).length : 1;
    const among = Math.min(Math.max(hostSubsetSize, equal), weighed.length);
    if (among < 2) return weighed;
    const first = randomInt(this.random, among);
    const [chosen] = weighed.splice(first, 1);
    return chosen === undefined ? weighed : [chosen, ...weighed];
  }
}
