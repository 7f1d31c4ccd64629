import type {
  HostDisabled,
  NestedProvider,
  RunningInstance,
  UpdateResourceStatsRequest,
  UpdateResourceStatsResponse,
} from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import type { Host } from '#libs/domain/host';
import { addResources, type Inventories, type Resources, spreadUsage } from '#libs/domain/inventory';
import { isUuid } from '#libs/domain/names';
import type { Mirror } from '#libs/placement/mirror/mirror';
import { nestedProviderName, nestedProviderUuid } from '#libs/placement/port/nested-provider';
import type { HostReport, NestedReport, PlacementStore, ReportResult } from '#libs/placement/port/placement-store';
import { mayTake } from '../nodes/report-grants';
import { epochRefusal } from './epoch-refusal';

/**
 * Applies a report that is valid: whole, or not at all.
 *
 * @throws BerthError `failed_precondition / epoch_superseded` when the host has another holder, `/ epoch_unknown` when it
 *   has to be acquired again; `/ stale_sequence` when the run's sequence was seen
 *   (`details.present`); `failed_precondition / name_taken`, `provider_taken`, `provider_not_yours` or `too_many_names` when the host's
 *   name belongs to another provider, the provider to another host, or to no host and not to this one; `unavailable`.
 */
export async function updateResourceStats(
  stats: UpdateResourceStatsRequest,
  deps: {
    readonly placement: PlacementStore;
    readonly mirror: Pick<Mirror, 'apply' | 'host' | TakenView>;
    readonly nowMs: number;
    /** Instances of the report that hold no claim: they count as external usage. */
    readonly unclaimed: readonly RunningInstance[];
    /** Which hosts may take providers that are no host's. */
    readonly reportGrants?: readonly string[];
    /** The agent, as the broker knows it; the host, unless given. */
    readonly reporter?: string;
  },
): Promise<UpdateResourceStatsResponse> {
  const { placement, mirror, nowMs, unclaimed, reportGrants = [], reporter = stats.host } = deps;
  // Fields of this one report would make it differ from the last.
  const { instances: _instances, position: _position, answeredAtMs: _answeredAtMs, nestedProviders, ...said } = stats;
  const { providerUuid } = stats;
  const providers = [
    { ...stats, uuid: providerUuid },
    ...nestedProviders.map((one) => ({ ...one, uuid: nestedProviderUuid(providerUuid, one.name) })),
  ];
  const used = unclaimedUsage(unclaimed, providers);
  const [ofRoot, ...ofNested] = providers.map((one, n) => withExternalUsage(one, used[n] ?? {}));
  const nested = nestedProviders.map((one, n) => nestedReport(one, stats, ofNested[n] ?? NOTHING));
  const taking = mayTake(stats, reportGrants) ? { mayTake: true } : {};
  const report = { ...said, ...ofRoot, ...taking, nested, reporter, atMs: nowMs };
  const result = await placement.reportHost(report);
  if (result.kind === 'committed') mirror.apply(result.change);
  else if (result.kind !== 'unchanged') throw refusal(result, stats, { mirror, reporter });
  const wantsAllocationRequests = unclaimed.some(({ allocationRequest }) => allocationRequest.length === 0);
  const disabled = disabledOf(mirror.host(stats.host), stats);
  return { sequence: stats.sequence, wantsAllocationRequests, atMs: nowMs, disabled };
}

/** The disabled state that the agent remembers; unchanged while the mirror does not show the host. */
function disabledOf(host: Host | undefined, { disabled }: UpdateResourceStatsRequest): HostDisabled | undefined {
  if (!host) return disabled;
  return host.enabled ? undefined : { reason: host.disabledReason };
}

const NOTHING = { inventories: {}, externalUsage: {} };

/** A provider's inventories and usage outside claims. */
interface ProviderStats {
  readonly uuid: string;
  readonly inventories: Inventories;
  readonly externalUsage: Resources;
}

/**
 * Usage of workloads that Berth does not manage is reserved, so that claims leave it free; so is usage of running instances
 * without a claim, whatever the reason. Whether to claim for them is the conductor's decision: an agent's word alone takes
 * no more than its own inventory.
 */
function withExternalUsage(
  { inventories, externalUsage }: ProviderStats,
  unclaimed: Resources,
): Pick<HostReport, 'inventories' | 'externalUsage'> {
  const result: Record<string, Inventories[string]> = { ...inventories };
  for (const [resourceClass, inventory] of Object.entries(inventories)) {
    // Instances share a total by the allocation ratio, other workloads take of the total itself.
    const ofInstances = Math.ceil((unclaimed[resourceClass] ?? 0) / inventory.allocationRatio);
    const used = (externalUsage[resourceClass] ?? 0) + ofInstances;
    if (used === 0) continue;
    result[resourceClass] = { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + used) };
  }
  return { inventories: result, externalUsage: growthOfReserved(inventories, result) };
}

/** Usage of unclaimed instances by provider of the host; without a named provider, those with the class share it. */
function unclaimedUsage(unclaimed: readonly RunningInstance[], providers: readonly ProviderStats[]): Resources[] {
  const said = (uuid: string) => {
    return unclaimed.reduce<Resources>((sum, { allocations = {} }) => addResources(sum, allocations[uuid] ?? {}), {});
  };
  const unsaid = unclaimed
    .filter(({ allocations = {} }) => Object.keys(allocations).length === 0)
    .reduce<Resources>((sum, { resources }) => addResources(sum, resources), {});
  const spread = spreadUsage(
    unsaid,
    providers.map(({ inventories }) => inventories),
    ({ total, allocationRatio }) => Math.ceil(total * allocationRatio),
  );
  return providers.map(({ uuid }, n) => addResources(said(uuid), spread[n] ?? {}));
}

function nestedReport(
  { name, parent, traits, device }: NestedProvider,
  { host, providerUuid }: UpdateResourceStatsRequest,
  amounts: Pick<HostReport, 'inventories' | 'externalUsage'>,
): NestedReport {
  return {
    ...amounts,
    uuid: nestedProviderUuid(providerUuid, name),
    name: nestedProviderName(host, name),
    parentUuid: parent === '' ? providerUuid : nestedProviderUuid(providerUuid, parent),
    traits,
    ...(device === undefined ? {} : { device }),
  };
}

function growthOfReserved(from: Inventories, to: Inventories): Resources {
  const growth = Object.entries(to).map(
    ([name, { reserved }]) => [name, reserved - (from[name]?.reserved ?? 0)] as const,
  );
  return Object.fromEntries(growth.filter(([, amount]) => amount > 0));
}

type TakenView = 'provider' | 'providerByName' | 'hostOfRoot';

type Refused = Exclude<ReportResult, { kind: 'committed' | 'unchanged' }>;

function refusal(
  result: Refused,
  { host, sequence, epoch }: UpdateResourceStatsRequest,
  { mirror, reporter }: { readonly mirror: Pick<Mirror, TakenView>; readonly reporter: string },
): BerthError {
  if (result.kind === 'full') {
    const message = `the agent ${reporter} has brought ${result.most} custom resource classes and traits, the most of one agent: report fewer, or delete those that nothing uses`;
    return new BerthError('failed_precondition', 'too_many_names', message, { details: { host } });
  }
  if (result.kind === 'epoch') return epochRefusal(host, epoch, result.present);
  if (result.kind === 'stale') {
    const message = `report ${sequence} of host ${host} is older than report ${result.present}, which is applied`;
    return new BerthError('failed_precondition', 'stale_sequence', message, {
      details: { present: String(result.present) },
    });
  }
  return takenBy(result.key, host, mirror);
}

/** Names what is in the way, and what its agent or an operator can do. */
function takenBy(key: string, host: string, mirror: Pick<Mirror, TakenView>): BerthError {
  const provider = mirror.provider(key);
  if (provider === undefined && !isUuid(key)) {
    const message = `provider ${mirror.providerByName(key)?.uuid ?? 'of another'} has the name ${key}: rename or delete it, or give the host another name`;
    return new BerthError('failed_precondition', 'name_taken', message);
  }
  const about = provider ? `provider ${key} (${provider.name})` : `provider uuid ${key}`;
  const holder = provider && mirror.hostOfRoot(provider.rootUuid);
  if (holder && holder.name !== host) {
    return new BerthError('failed_precondition', 'provider_taken', `${about} is host ${holder.name}'s`);
  }
  const message = `${about} is not host ${host}'s to report: a report creates its own providers or names those of its host; an operator grants others (BERTH_SCHEDULER_REPORT_GRANTS=${host}=${key})`;
  return new BerthError('failed_precondition', 'provider_not_yours', message);
}
