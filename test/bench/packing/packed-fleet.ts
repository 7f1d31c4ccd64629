import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { Host } from '#libs/domain/host';
import { inventory } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import { type Random, seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { readConfig } from '#libs/runtime/config';
import type { CoresAndRam } from '../../../services/cli/trace/timeline';
import { pickHosts } from '../../../services/scheduler/decision/pick-hosts';
import { Pricing } from '../../../services/scheduler/demand/pricing';
import { FleetSnapshot } from '../../../services/scheduler/fleet/fleet-snapshot';
import { type HostState, withClaim, withoutClaim } from '../../../services/scheduler/fleet/host-state';
import type { PendingClaim } from '../../../services/scheduler/fleet/pending-claims';
import { PersistentVector } from '../../../services/scheduler/fleet/persistent-vector';
import { schedulerOptions } from '../../../services/scheduler/options';
import { KeptRanks } from '../../../services/scheduler/ranking/ranked-hosts';
import { RequestConstraints } from '../../../services/scheduler/ranking/request-constraints';
import { weighsByPrices } from '../../../services/scheduler/ranking/weighing';
import { type ClassifiedSpec, equivalenceClassOf } from '../../../services/scheduler/request/equivalence-class';
import { type SelectSettings, selectSettings } from '../../../services/scheduler/settings';

/**
 * The hosts of one fleet and a scheduler's own filters, weighers, ranks and prices, on a snapshot in memory. There is
 * no store and no bus: a decision is a claim at once.
 */
export class PackedFleet {
  private readonly settings: SelectSettings;
  private readonly pricing: Pricing;
  private readonly ranks: KeptRanks;
  private readonly random: Random = seededRandom(18);
  private readonly requests = new Map<string, ClassifiedSpec & { readonly constraints: RequestConstraints }>();
  private snapshot: FleetSnapshot;
  private asked = 0;

  /** `profile` is a value of `BERTH_SCHEDULER_PROFILE`. */
  constructor(hosts: readonly CoresAndRam[], profile: string) {
    this.settings = selectSettings(readConfig(schedulerOptions, { BERTH_SCHEDULER_PROFILE: profile }));
    this.pricing = new Pricing(weighsByPrices(this.settings));
    this.ranks = new KeptRanks(this.settings, this.pricing, 10_000_000);
    const kinds = new Map<CoresAndRam, HostState['inventories']>();
    const states = hosts.map((shape, index): [number, HostState] => {
      const inventories = kinds.get(shape) ?? { VCPU: inventory(shape.cores), MEMORY_MB: inventory(shape.ram) };
      kinds.set(shape, inventories);
      return [index, emptyHost(index, inventories)];
    });
    this.snapshot = new FleetSnapshot(PersistentVector.of<HostState>().with(states), hosts.length, new Map());
  }

  /** Decides for one VM; returns its claim, or undefined without a host. */
  place({ cores, ram }: CoresAndRam): PendingClaim | undefined {
    const { equivalenceClass, constraints } = this.requestFor(cores, ram);
    const { snapshot, random, settings } = this;
    this.pricing.note(equivalenceClass, [`vm-${this.asked++}`], snapshot);
    const picking = { rankHosts: this.ranks.rank, settings, equivalenceClass, group: undefined, random };
    const picked = pickHosts([VM], { snapshot, constraints }, picking);
    const claim = picked.picks[0]?.claim;
    if (claim) this.change(claim, withClaim(snapshot.at(claim.hostIndex) as HostState, claim));
    return claim;
  }

  remove(claim: PendingClaim): void {
    this.change(claim, withoutClaim(this.snapshot.at(claim.hostIndex) as HostState, claim));
  }

  forEachHost(visit: (host: HostState) => void): void {
    this.snapshot.hosts.forEach((_, host) => visit(host));
  }

  /** Builds end at once. */
  private change({ hostIndex }: PendingClaim, state: HostState): void {
    const { hosts, hostCount } = this.snapshot;
    this.snapshot = new FleetSnapshot(hosts.set(hostIndex, { ...state, buildsInProgress: 0 }), hostCount, new Map());
  }

  private requestFor(cores: number, ram: number) {
    const key = `${cores}/${ram}`;
    const known = this.requests.get(key);
    if (known) return known;
    const spec = resolveSpec(requestSpec({ VCPU: cores, MEMORY_MB: ram }, { projectId: VM, userId: VM }), 'trace');
    const named = { forceHosts: [], ignoreHosts: [], sameHost: [], differentHost: [] };
    const none = new Map<number, string>();
    const refused = {
      refusedClaims: none,
      unconfirmed: none,
      unguarded: none,
      quotaExceeded: [],
      nominatedHosts: new Set<number>(),
    };
    const about = { members: undefined, named, ...refused };
    const constraints = new RequestConstraints({ spec: { ...spec, group: undefined }, ...about }, this.settings);
    const made = { spec, equivalenceClass: equivalenceClassOf(spec), constraints };
    this.requests.set(key, made);
    return made;
  }
}

const VM = 'trace';

function emptyHost(index: number, inventories: HostState['inventories']): HostState {
  const name = `host-${index}`;
  const host: Host = {
    name,
    providerUuid: name,
    cell: 'cell1',
    serviceHost: name,
    aggregates: [],
    enabled: true,
    disabledReason: '',
    up: true,
    capabilities: {},
    ioOps: 0,
    externalInstances: 0,
    epoch: 1,
    agentRun: '',
    sequence: 1,
    failures: 0,
    lastFailureAtMs: 0,
    failuresInARow: 0,
    lastFailure: '',
    updatedAtMs: 0,
  };
  const times = { createdAtMs: 0, updatedAtMs: 0 };
  const own = { inventories, traits: [], aggregates: [] };
  const root: Provider = { uuid: name, name, parentUuid: undefined, rootUuid: name, generation: 1, ...own, ...times };
  const free = Object.fromEntries(Object.entries(inventories).map(([each, { total }]) => [each, total]));
  return {
    index,
    host,
    aggregates: [],
    root,
    traits: new Set(),
    inventories,
    free,
    freeAtOnce: free,
    instances: 0,
    buildsInProgress: 0,
    recentFailures: 0,
    quarantine: undefined,
    leased: undefined,
    reserved: undefined,
    providers: undefined,
  };
}
