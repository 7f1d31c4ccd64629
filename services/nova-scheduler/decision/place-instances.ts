import { type Random, randomInt } from '#libs/domain/random';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Candidate } from '#libs/placement/search/query';
import type { NovaFacts, NovaNode } from '../facts/nova-facts';
import type { FilterContext, FilterSettings, HostFilter } from '../filters/filter';
import type { NovaRequest } from '../request/nova-request';
import { bestFirst, type Weighing, weighHosts } from '../weighers/weigher';
import { filterHosts } from './filter-hosts';
import type { HardwareOverlay } from './hardware-overlay';
import { HostState } from './host-state';
import type { HostVerdicts } from './host-verdicts';
import type { KnownHost } from './known-hosts';
import { claimedRoots, locateInstances } from './locate-instances';
import { Refusals } from './refusals';
import { UsageOverlay } from './usage-overlay';

/** Settings of a decision, by their names in nova.conf. */
export interface PlaceSettings extends FilterSettings {
  readonly filters: readonly HostFilter[];
  readonly weighings: readonly Weighing[];
  readonly hostSubsetSize: number;
  readonly shuffleBestSameWeighedHosts: boolean;
}

/** Input of a decision. */
export interface PlaceInput {
  readonly request: NovaRequest;
  /** An instance for each place; undefined for callers that name none, for which nothing is claimed. */
  readonly instanceUuids: readonly (string | undefined)[];
  /** Nodes with the ways to claim there; none where nothing is claimed. */
  readonly hosts: readonly { readonly known: KnownHost; readonly candidates: readonly Candidate[] }[];
  /** Instances that hold a claim for what is asked, which they keep. */
  readonly held: ReadonlyMap<string, Pick>;
  readonly view: PlacementView;
  readonly facts: NovaFacts;
  /** Claims on their way. */
  readonly inFlight: UsageOverlay;
  /** Hardware that instances got and Nova's database does not tell yet. */
  readonly hardware: HardwareOverlay;
  /** Most alternates of an instance. */
  readonly alternateCount: number;
  /** Roots of hosts by instance, of claims that the view does not show yet. */
  readonly awaitedOn?: ReadonlyMap<string, string> | undefined;
  /** Takes the verdict on each host, where the decision is recorded or compared. */
  readonly verdicts?: HostVerdicts | undefined;
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
  const alternates = input.alternateCount > 0 ? run.alternatesOf(picks.map(({ pick }) => pick)) : [];
  return { kind: 'placed', placed: picks.map((one, i) => ({ ...one, alternates: alternates[i] ?? [] })) };
}

class Placing {
  readonly #taken: UsageOverlay;
  readonly #hardware: HardwareOverlay;
  readonly #placedOn: Map<string, string>;
  readonly #placedCounts = new Map<string, number>();
  readonly #placedHosts = new Set<string>();
  readonly #hosts: readonly HostState[];
  /** Hosts after the one that was picked last, as they were ranked for it. */
  #next: Iterator<Pick> | undefined;

  constructor(
    private readonly input: PlaceInput,
    private readonly random: Random,
    private readonly settings: PlaceSettings,
  ) {
    this.#placedOn = new Map(input.awaitedOn);
    this.#taken = new UsageOverlay(input.inFlight);
    this.#hardware = input.hardware.above();
    const sources = { ...input, taken: this.#taken, hardware: this.#hardware, placed: this.#placedCounts };
    this.#hosts = input.hosts.map(({ known, candidates }) => new HostState(known, candidates, sources));
  }

  pickFor(instanceUuid: string | undefined, refusals: Refusals): Pick | undefined {
    this.#next = this.#ranked(instanceUuid, refusals);
    return this.#next.next().value;
  }

  assume(instanceUuid: string | undefined, { node, candidate }: Pick, isNew: boolean): void {
    if (isNew && candidate !== undefined) this.#taken.add(candidate.allocations);
    const { request, facts } = this.input;
    if (isNew) this.#hardware.take(node.uuid, facts.hardware(node.uuid), request.hardware, this.settings);
    if (instanceUuid !== undefined) this.#placedOn.set(instanceUuid, node.uuid);
    if (isNew) this.#placedCounts.set(node.uuid, (this.#placedCounts.get(node.uuid) ?? 0) + 1);
    this.#placedHosts.add(node.host);
  }

  /** Alternates of each pick: hosts of its cell that nobody got. Ranked anew when several instances were placed, as Nova does. */
  alternatesOf(picked: readonly Pick[]): Pick[][] {
    const { instanceUuids, alternateCount } = this.input;
    const taken = new Set(picked.map(({ node }) => node.uuid));
    const alternates = picked.map((): Pick[] => []);
    const ranked = picked.length === 1 ? this.#next : undefined;
    const rest = ranked ?? this.#ranked(instanceUuids.at(-1), new Refusals());
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      const spare = next.value;
      if (taken.has(spare.node.uuid)) continue;
      let isFull = true;
      picked.forEach(({ node }, i) => {
        const own = alternates[i];
        if (own === undefined || own.length >= alternateCount) return;
        if (node.cellUuid === spare.node.cellUuid) own.push(spare);
        if (own.length < alternateCount) isFull = false;
      });
      if (isFull) break;
    }
    return alternates;
  }

  /** Hosts that pass and have a way to claim, best first. */
  *#ranked(instanceUuid: string | undefined, refusals: Refusals): Generator<Pick> {
    const { request, view, facts, verdicts } = this.input;
    const { filters, weighings } = this.settings;
    const context: FilterContext = {
      request,
      instanceUuid,
      locate: locateInstances(view, facts, this.#placedOn),
      placedHosts: this.#placedHosts,
      claimedRoots: () => new Set([...claimedRoots(request, view, instanceUuid), ...this.#awaitedRoots()]),
      settings: this.settings,
    };
    const passing = filterHosts(this.#hosts, filters, context, { refusals, verdicts });
    const weigh = (parts?: Map<string, Float64Array>) => weighHosts(passing, weighings, context, parts);
    const weights = verdicts === undefined ? weigh() : verdicts.rank(passing, weigh);
    for (const host of this.#drawn(passing, weights)) {
      const candidate = host.fittingCandidate;
      if (host.candidates.length === 0 || candidate !== undefined) yield { node: host.node, candidate };
      else refusals.add('placement', 'claims on their way take it');
    }
  }

  /** Hosts where members of the group have claims that the view does not show yet. */
  #awaitedRoots(): string[] {
    const { request, awaitedOn = new Map<string, string>() } = this.input;
    return [...(request.group?.members ?? [])].flatMap((uuid) => awaitedOn.get(uuid) ?? []);
  }

  /** One of the best few comes first, so that schedulers choose differently. */
  *#drawn(hosts: readonly HostState[], weights: Float64Array): Generator<HostState> {
    const { hostSubsetSize, shuffleBestSameWeighedHosts } = this.settings;
    const ranked = bestFirst(weights);
    const among: HostState[] = [];
    let next = ranked.next();
    const best = next.value === undefined ? undefined : weights[next.value];
    for (; next.done !== true; next = ranked.next()) {
      const isEqual = shuffleBestSameWeighedHosts && weights[next.value] === best;
      if (among.length >= Math.min(hostSubsetSize, hosts.length) && !isEqual) break;
      among.push(hosts[next.value] as HostState);
    }
    const [first] = among.length < 2 ? [] : among.splice(randomInt(this.random, among.length), 1);
    if (first !== undefined) yield first;
    yield* among;
    for (; next.done !== true; next = ranked.next()) yield hosts[next.value] as HostState;
  }
}
