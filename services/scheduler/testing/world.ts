import { createHash, randomUUID } from 'node:crypto';
import type { ExplainResponse } from '#libs/contracts/diagnosis';
import type { HeadroomView } from '#libs/contracts/guarantees';
import type { ClaimMovesResponse } from '#libs/contracts/moves';
import type { ReservationStatus, ReservationTerms } from '#libs/contracts/reservations';
import type { Move } from '#libs/contracts/selection';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { type Inventories, inventory, type Resources } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { decisionKeeper, type PastDecision } from '#libs/placement/past-decisions/keep-decisions';
import type { HostReport, PlacementStore } from '#libs/placement/port/placement-store';
import { open, sealer } from '#libs/placement/sealed/allocation-request';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { aReport, aWrite, mustCommit } from '#libs/testing/placement/placement';
import { alternateHolder } from '../decision/alternates/hold-alternates';
import type { NoteNotHeld } from '../decision/alternates/not-held';
import { completeRequest, type SelectRequest } from '../decision/complete-request';
import { type ExplainedRequest, explain } from '../decision/explain/explain';
import { type AskedMove, claimMoves } from '../decision/moves/claim-moves';
import { nominator } from '../decision/preemption/nominate';
import { referrer } from '../decision/refer';
import { type Selected, selectDestinations } from '../decision/select-destinations';
import { Pricing } from '../demand/pricing';
import { Fleet } from '../fleet/fleet';
import type { HostState } from '../fleet/host-state';
import { FlightRecorder } from '../flight/recorder';
import { turnsToAdmit } from '../guarantee/admission-turns';
import type { GuaranteeOutcome } from '../guarantee/decide-kept';
import { GuaranteeKeeper } from '../guarantee/guarantee-keeper';
import { headroomOf } from '../guarantee/guarantee-status';
import { type SchedulerConfig, schedulerOptions } from '../options';
import { KeptRanks, type RankHosts } from '../ranking/ranked-hosts';
import { weighsByPrices } from '../ranking/weighing';
import { type ClassifiedSpec, equivalenceClassOf, specClassifier } from '../request/equivalence-class';
import { lookAtReservations } from '../reservation/keep-reservations';
import { createReservation } from '../reservation/serve-reservations';
import { selectSettings } from '../settings';

/** The deciding parts of one scheduler, with a mirror of its own. */
export interface TestScheduler {
  /** Records decisions into a folder from now on, until the recorder is closed. */
  record(folder: string, maxBytes?: number): Promise<FlightRecorder>;
  /** Writes the decisions that wait to be kept. */
  flushDecisions(): Promise<void>;
  /** Holdings that failed: kind, instance, reason. */
  readonly unheld: readonly string[];
  readonly guarantees: GuaranteeKeeper;
  /** Outcomes of guarantees. */
  readonly noted: readonly string[];
  /** Number of further instances of a spec that fit while all guarantees hold. */
  headroom(spec: Partial<RequestSpec>): HeadroomView;
  /** Creates a reservation. */
  reserve(terms: ReservationTerms): Promise<ReservationStatus>;
  /** Looks after reservations once. */
  keepReservations(): Promise<void>;
  readonly mirror: Mirror;
  readonly fleet: Fleet;
  readonly ranks: KeptRanks;
  readonly pricing: Pricing;
  readonly rankHosts: RankHosts;
  readonly settings: ReturnType<typeof selectSettings>;
  readonly config: SchedulerConfig;
  /** The host as the next decision sees it. */
  host(name: string): HostState | undefined;
  /** The dry run of a request for one instance; of one host, or of the best. */
  explain(spec?: Partial<RequestSpec>, host?: string, limit?: number, more?: ExplainedMore): ExplainResponse;
  /** Selects for `count` new instances, or for the ones given. */
  select(
    spec?: Partial<RequestSpec>,
    instances?: number | readonly string[],
    numAlternates?: number,
    rank?: Rank,
  ): Promise<Selected>;
  /** Selects for a gang of kinds, in their order. */
  selectKinds(kinds: readonly KindOfTest[], rank?: Rank): Promise<Selected>;
  /** Claims moves together, or says where they would go. */
  claimMoves(moves: readonly MoveOfTest[], dryRun?: boolean): Promise<ClaimMovesResponse>;
  /** Moves an instance to where it is to be what the spec says. */
  move(spec: Partial<RequestSpec>, instanceUuid: string, move: Move): Promise<Selected>;
  close(): Promise<void>;
}

type MoveOfTest = Pick<AskedMove, 'instanceUuid' | 'move'> & { readonly spec: Partial<RequestSpec> };

/** One kind of a gang's members. */
export interface KindOfTest {
  readonly spec: Partial<RequestSpec>;
  readonly count: number;
  readonly minCount?: number;
}

/** Priority, protection and preemption of a request. */
type Rank = Pick<
  SelectRequest,
  'minCount' | 'priority' | 'isProtected' | 'mayPreempt' | 'alternatesHeld' | 'timeLimitMs'
>;
type ExplainedMore = Omit<ExplainedRequest, keyof ClassifiedSpec | 'host' | 'limit'>;

/** The cell that schedulers of a test share. */
export interface World {
  readonly placement: PlacementStore;
  readonly clock: FakeClock;
  /** Reports a host; what is not given is 8 VCPU, 16 GiB and 100 GB. */
  report(host: string, fields?: HostFields): Promise<void>;
  /** Puts hosts into an aggregate of this name, which is made when there is none; its uuid. */
  aggregate(name: string, metadata: Readonly<Record<string, string>>, ...hosts: readonly string[]): Promise<string>;
  /** A consumer with amounts on a host; its uuid. */
  occupy(host: string, resources: Resources, group?: ServerGroup, uuid?: string): Promise<string>;
  /** The same, though it does not fit or the group's policy forbids it. */
  force(host: string, resources: Resources, group?: ServerGroup): Promise<string>;
  scheduler(config?: Partial<SchedulerConfig>, placement?: PlacementStore): Promise<TestScheduler>;
  close(): Promise<void>;
}

type HostFields = Partial<Omit<HostReport, 'host'>>;

export const INVENTORIES: Inventories = {
  VCPU: inventory(8),
  MEMORY_MB: inventory(16_384),
  DISK_GB: inventory(100),
};

export function uuidOfHost(host: string): string {
  const digits = createHash('sha256').update(host).digest('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

export function aWorld(): World {
  const placement = new MemoryPlacementStore();
  const clock = fakeClock();
  const schedulers: TestScheduler[] = [];
  let sequence = 0;
  const occupy = async (
    force: boolean,
    host: string,
    resources: Resources,
    group?: ServerGroup,
    uuid: string = randomUUID(),
  ) => {
    const member = group ? { group: { group, host } } : {};
    const consumers = [aWrite({ [uuidOfHost(host)]: resources }, { uuid, ...member })];
    await mustCommit(placement, { kind: 'write_allocations', atMs: clock.now(), consumers, force });
    return uuid;
  };
  return {
    placement,
    clock,
    async report(host, fields = {}) {
      sequence += 1;
      const report = aReport({ inventories: INVENTORIES, traits: [], capabilities: {}, ...fields, host, sequence });
      await placement.reportHost({
        ...report,
        providerUuid: fields.providerUuid ?? uuidOfHost(host),
        atMs: clock.now(),
      });
    },
    async aggregate(name, metadata, ...hosts) {
      const uuid = uuidOfHost(`aggregate ${name}`);
      const atMs = clock.now();
      await mustCommit(placement, { kind: 'create_aggregate', atMs, uuid, name, metadata });
      for (const host of hosts) await mustCommit(placement, { kind: 'add_aggregate_host', atMs, uuid, host });
      return uuid;
    },
    occupy: (host, resources, group, uuid) => occupy(false, host, resources, group, uuid),
    force: (host, resources, group) => occupy(true, host, resources, group),
    async scheduler(overrides = {}, store = placement) {
      const scheduler = await openScheduler(store, clock, { hostSubsetSize: 1, ...overrides });
      schedulers.push(scheduler);
      return scheduler;
    },
    async close() {
      for (const scheduler of schedulers) await scheduler.close();
    },
  };
}

async function openScheduler(
  placement: PlacementStore,
  clock: FakeClock,
  overrides: Partial<SchedulerConfig>,
): Promise<TestScheduler> {
  // The clock stands still: nobody waits for a turn.
  const config: SchedulerConfig = { ...readConfig(schedulerOptions, {}), guaranteeTurnMs: 0, ...overrides };
  const random = { ...seededRandom(7), uuid: randomUUID };
  const mirror = await Mirror.open(placement, { clock, random: seededRandom(1), log: silentLog });
  const fleet = new Fleet(mirror, config);
  const settings = selectSettings(config);
  const pricing = new Pricing(weighsByPrices(settings));
  const ranks = new KeptRanks(settings, pricing, config.rankedHosts);
  const rankHosts = ranks.rank;
  const decisions = decisionKeeper(placement, config.keptDecisions, { log: silentLog, clock });
  const refer = referrer({ placement, clock, random: seededRandom(5), config });
  const unheld: string[] = [];
  const notHeld: NoteNotHeld = (what, uuid, reason) => void unheld.push(`${what} of ${uuid}: ${reason}`);
  const noted: string[] = [];
  const guarantees = new GuaranteeKeeper(fleet, settings);
  const records = { get: async () => [] };
  const following = { guarantees, fleet, instances: records, classify: specClassifier(), clock, log: silentLog };
  let recorder: FlightRecorder | undefined;
  const deps = {
    get recorder() {
      return recorder;
    },
    keepDecision: (decision: PastDecision) => decisions.keep(decision),
    keepsSelected: decisions.hasRoom,
    placement,
    mirror,
    fleet,
    pricing,
    rankHosts,
    settings,
    clock,
    sealer: sealer(config.claimKey),
    refer,
    holdAlternates: alternateHolder({ placement, mirror, clock, notHeld, config }),
    nominate: nominator({ placement, mirror, clock, notHeld, config }),
    confirm: async () => [],
    takeTurn: turnsToAdmit({ ...following, placement, mirror, random, holdMs: config.guaranteeTurnMs }),
    guarantees,
    noteGuarantee: (outcome: GuaranteeOutcome, why: string) => void noted.push(`${outcome}: ${why}`),
  };
  const keeping = { parts: { ...deps, classify: specClassifier() }, placement, mirror, clock, log: silentLog };
  const caughtUp = async () => mirror.waitFor(await placement.revision(), { timeoutMs: 1_000 });
  return {
    reserve: async (terms) => {
      await caughtUp();
      return createReservation(terms, { ...keeping, catchUp: caughtUp });
    },
    keepReservations: () => lookAtReservations(keeping),
    async record(folder, maxBytes = 1_000_000_000) {
      const about = { mirror, fleet, pricing, clock, log: silentLog, version: '0.0.0', processId: '1' };
      const bounds = { maxBytes, maxAgeMs: 1_000_000_000 };
      recorder = await FlightRecorder.open({ ...about, config, folder, bounds });
      return recorder;
    },
    flushDecisions: () => decisions.flush(),
    unheld,
    guarantees,
    noted,
    headroom: (spec) => headroomOf(completeRequest(classified(spec), fleet), clock.now(), deps),
    mirror,
    fleet,
    ranks,
    pricing,
    rankHosts,
    settings,
    config,
    host: (name) => fleet.snapshot(clock.now()).at(fleet.indexOfHost(name)),
    explain: (spec = {}, host = '', limit = 100, more = {}) =>
      explain({ ...classified(spec), host, limit, ...more }, clock.now(), deps),
    select(spec = {}, instances = 1, numAlternates = 0, rank = {}) {
      const instanceUuids =
        typeof instances === 'number' ? Array.from({ length: instances }, () => randomUUID()) : instances;
      const request = { requestId: randomUUID(), ...classified(spec), instanceUuids, numAlternates, ...rank };
      return selectDestinations(request, { isAborted: false, signal: new AbortController().signal }, deps);
    },
    selectKinds(kinds, rank = {}) {
      const [first, ...furtherKinds] = kinds.map(({ spec, count, minCount = 0 }) => {
        const instanceUuids = Array.from({ length: count }, () => randomUUID());
        return { ...classified(spec), instanceUuids, minCount };
      });
      if (!first) throw new Error('no kinds');
      const request = { requestId: randomUUID(), numAlternates: 0, ...rank, ...first };
      const caller = { isAborted: false, signal: new AbortController().signal };
      return selectDestinations({ ...request, ...(furtherKinds.length > 0 ? { furtherKinds } : {}) }, caller, deps);
    },
    move(spec, instanceUuid, move) {
      const about = { requestId: randomUUID(), instanceUuids: [instanceUuid], numAlternates: 0, move };
      const caller = { isAborted: false, signal: new AbortController().signal };
      return selectDestinations({ ...about, ...classified(spec) }, caller, deps);
    },
    claimMoves(moves, dryRun = false) {
      const asked = moves.map(({ spec, ...about }) => ({ ...about, ...classified(spec) }));
      return claimMoves(asked, dryRun, { isAborted: false, signal: new AbortController().signal }, deps);
    },
    async close() {
      guarantees.close();
      fleet.close();
      await mirror.close();
    },
  };
}

/** A request spec with what the test cares about, and its class. */
export function classified(spec: Partial<RequestSpec> = {}): ClassifiedSpec {
  const whole = resolveSpec(aRequestSpec(spec), 'request_spec');
  return { spec: whole, equivalenceClass: equivalenceClassOf(whole) };
}

/** The hosts that were selected, in the order of the instances. */
export function hostsOf({ response }: Selected): string[] {
  return response.destinations.map(({ selected }) => selected.host);
}

/** An opened allocation request. */
export function opened(scheduler: TestScheduler, sealed: Uint8Array) {
  return open(sealed, scheduler.config.claimKey);
}
