import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { seededRandom } from '#libs/domain/random';
import { RootColumns } from '#libs/placement/index/root-columns';
import { Mirror } from '#libs/placement/mirror/mirror';
import type { Change, PlacementStore, Rows } from '#libs/placement/port/placement-store';
import { KeptCandidates } from '#libs/placement/search/kept-candidates';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { HardwareOverlay } from '../../nova-scheduler/decision/hardware-overlay';
import { KnownHosts } from '../../nova-scheduler/decision/known-hosts';
import { type Attempt, decide, type SelectDeps } from '../../nova-scheduler/decision/select-destinations';
import { UsageOverlay } from '../../nova-scheduler/decision/usage-overlay';
import { NovaFacts, RECORDED_KINDS, type RecordedKind } from '../../nova-scheduler/facts/nova-facts';
import {
  NOVA_FORMAT,
  type NovaClaimEntry,
  type NovaDecideEntry,
  type NovaFlightEntry,
  type NovaOutcome,
  type NovaReadyEntry,
  type NovaSegmentEntry,
  type NovaSettleEntry,
} from '../../nova-scheduler/flight/entries';
import { novaOutcomeOf } from '../../nova-scheduler/flight/outcome-of';
import type { NovaConfig } from '../../nova-scheduler/options';
import { novaRequest } from '../../nova-scheduler/request/nova-request';
import { selectSettings } from '../../nova-scheduler/settings';
import { recordedStore, show } from '../recorded-store';

/** A decision of a scheduler for Nova that was made again. */
export interface NovaReplayed {
  readonly entry: NovaDecideEntry;
  readonly outcome: NovaOutcome;
  /** True if it came out as it was recorded. */
  readonly isSame: boolean;
}

/** The result of a decision, as `decide` tells it. */
export type NovaDecision = Awaited<ReturnType<typeof decide>>;

/** A mirror of recorded rows, and the way by which changes come to it. */
interface ShownRows {
  readonly mirror: Mirror;
  readonly stream: (changes: readonly Change[]) => void;
}

type FactRowsByKind = ReadonlyMap<RecordedKind, Map<string, unknown>>;

/** The scheduler for Nova of a segment, as it was before each of its entries. Decisions are made by its own code. */
export class NovaReplay {
  readonly #inFlight = new UsageOverlay();
  readonly #claims = new Map<number, NovaClaimEntry>();
  readonly #hardware: HardwareOverlay;
  readonly #knownHosts: KnownHosts;
  readonly #aids: SelectDeps['aids'];
  /** The recorded clock. */
  #elapsedMs = 0;
  readonly facts: NovaFacts;

  readonly mirror: Mirror;
  private readonly stream: (changes: readonly Change[]) => void;
  private readonly rows: FactRowsByKind;

  private constructor(
    readonly segment: NovaSegmentEntry,
    private readonly entries: Iterator<NovaFlightEntry>,
    { mirror, stream }: ShownRows,
    ready: NovaReadyEntry,
  ) {
    this.mirror = mirror;
    this.stream = stream;
    const rows = new Map(RECORDED_KINDS.map((of) => [of, new Map(ready.facts[of])]));
    this.rows = rows;
    const clock = { elapsed: () => this.#elapsedMs };
    this.facts = new NovaFacts(clock);
    for (const of of RECORDED_KINDS) this.facts.restore(of, rows.get(of) ?? new Map());
    this.#hardware = new HardwareOverlay(clock);
    this.#hardware.restore(ready.hardware);
    for (const claim of ready.claims) this.#hold(claim);
    this.#knownHosts = new KnownHosts(mirror, this.facts);
    this.#aids = { columns: new RootColumns(mirror), kept: new KeptCandidates(mirror) };
  }

  /**
   * Reads the beginning of a segment. Undefined for one of another service, and for one that ends before all rows were written.
   *
   * @throws BerthError `failed_precondition / other_format`
   */
  static async open(entries: Iterable<NovaFlightEntry>): Promise<NovaReplay | undefined> {
    const all = entries[Symbol.iterator]();
    const segment = all.next().value as NovaFlightEntry | undefined;
    if (segment?.kind !== 'nova_segment') return undefined;
    if (segment.format !== NOVA_FORMAT) throw otherFormat(segment);
    const rows: Rows[] = [];
    const changes: NovaFlightEntry[] = [];
    for (let next = all.next(); next.done !== true; next = all.next()) {
      const entry = next.value;
      if (entry.kind === 'dump') rows.push(entry.rows);
      else if (entry.kind !== 'nova_ready') changes.push(entry);
      else {
        const { store, stream } = recordedStore(rows, segment.revision);
        const mirror = await Mirror.open(store, { clock: systemClock(), random: seededRandom(0), log: silentLog });
        for (const change of changes) show(change, mirror, stream);
        return new NovaReplay(segment, all, { mirror, stream }, entry);
      }
    }
    return undefined;
  }

  /** Each decision, with everything as it was before it. */
  *decisions(): Generator<NovaDecideEntry> {
    for (let next = this.entries.next(); next.done !== true; next = this.entries.next()) {
      const entry = next.value;
      if (entry.kind !== 'nova_decide') this.#take(entry);
      else {
        this.#elapsedMs = entry.attempt.elapsedMs;
        yield entry;
      }
    }
  }

  async again(entry: NovaDecideEntry): Promise<NovaReplayed> {
    const { result } = await this.decide(entry, this.segment.config);
    const outcome = novaOutcomeOf(result);
    return { entry, outcome, isSame: JSON.stringify(outcome) === JSON.stringify(entry.outcome) };
  }

  /** The decision with these settings. */
  decide({ attempt, request }: NovaDecideEntry, config: NovaConfig): Promise<NovaDecision> {
    const asked: Attempt = {
      request: novaRequest(request.spec, request.userId),
      instanceUuids: attempt.namesInstances ? request.instanceUuids : undefined,
      places: attempt.places,
      withAlternates: attempt.withAlternates,
      isDryRun: attempt.isDryRun,
      isObserved: true,
      refusedRoots: new Set(attempt.refusedRoots),
    };
    return decide(asked, attempt.seed, this.#deps(config));
  }

  /** Shows a host as up and enabled, or as down. @throws BerthError `not_found / no_such_host` */
  setHost(host: string, isUp: boolean): void {
    const service = this.facts.service(host);
    if (!service) throw new BerthError('not_found', 'no_such_host', `there was no host '${host}'`);
    const changed = { ...service, isUp, isDisabled: service.isDisabled && !isUp };
    this.facts.restore('services', new Map([...(this.rows.get('services') ?? []), [host, changed]]));
  }

  async close(): Promise<void> {
    this.#knownHosts.close();
    this.#aids.columns?.close();
    this.#aids.kept?.close();
    await this.mirror.close();
  }

  #deps(config: NovaConfig): SelectDeps {
    return {
      clock: systemClock() satisfies Clock,
      placement: undefined as unknown as PlacementStore,
      mirror: this.mirror,
      facts: this.facts,
      refresh: async () => {},
      aids: this.#aids,
      knownHosts: this.#knownHosts,
      inFlight: this.#inFlight,
      hardware: this.#hardware,
      settings: selectSettings(config),
    };
  }

  #take(entry: Exclude<NovaFlightEntry, NovaDecideEntry>): void {
    if (entry.kind === 'nova_settle') return this.#settle(entry);
    if (entry.kind === 'nova_claim') return this.#claim(entry);
    if (entry.kind !== 'nova_facts') return show(entry, this.mirror, this.stream);
    const { of, put, gone } = entry;
    const rows = this.rows.get(of) ?? new Map<string, unknown>();
    for (const [key, row] of put) rows.set(key, row);
    for (const key of gone) rows.delete(key);
    this.facts.restore(of, rows);
  }

  #hold(claim: NovaClaimEntry): void {
    this.#claims.set(claim.id, claim);
    for (const { allocations } of claim.hosts) this.#inFlight.add(allocations);
  }

  #claim(claim: NovaClaimEntry): void {
    const { hosts, hardware, atElapsedMs } = claim;
    this.#elapsedMs = atElapsedMs;
    this.#hold(claim);
    if (hardware === undefined) return;
    const settings = selectSettings(this.segment.config);
    for (const { rootUuid } of hosts) this.#hardware.take(rootUuid, this.facts.hardware(rootUuid), hardware, settings);
  }

  #settle({ id, isClaimed }: NovaSettleEntry): void {
    const { hosts = [] } = this.#claims.get(id) ?? {};
    this.#claims.delete(id);
    for (const { rootUuid, allocations } of hosts) {
      this.#inFlight.add(allocations, -1);
      if (!isClaimed) this.#hardware.forget(rootUuid);
    }
  }
}

function otherFormat({ format, version }: NovaSegmentEntry): BerthError {
  const message = `the record is of Berth ${version}, in format ${format} for Nova; this Berth reads format ${NOVA_FORMAT}`;
  return new BerthError('failed_precondition', 'other_format', message);
}
