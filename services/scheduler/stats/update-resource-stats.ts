import type { UpdateResourceStatsRequest, UpdateResourceStatsResponse } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import type { Inventories } from '#libs/domain/inventory';
import { isKnown } from '#libs/placement/commands/report-host';
import type { Mirror } from '#libs/placement/mirror';
import type { CommitResult, PlacementStore, ReportHost } from '#libs/placement/store';
import { validateStats } from './validate';

/**
 * Applies an agent's report of its host: whole, or not at all.
 *
 * @throws BerthError as {@link validateStats}; `failed_precondition / stale_sequence` when the run's sequence was seen
 *   (`details.present`); `failed_precondition / name_taken` or `provider_taken` when the host's name belongs to another
 *   provider or the provider to another host; `unavailable`.
 */
export async function updateResourceStats(
  stats: UpdateResourceStatsRequest,
  sender: string,
  deps: {
    readonly placement: PlacementStore;
    readonly mirror: ReportMirror;
    readonly nowMs: number;
    readonly maxInstances: number;
  },
): Promise<UpdateResourceStatsResponse> {
  validateStats(stats, sender, deps.maxInstances);
  const result = await report({ ...asCommand(stats), atMs: deps.nowMs }, deps);
  if (result.kind === 'committed') deps.mirror.apply(result.change);
  else if (result.kind !== 'unchanged') throw refusal(result, stats);
  return { sequence: stats.sequence };
}

type ReportMirror = Pick<Mirror, 'apply' | 'host' | 'provider'>;

/** Most reports say what the last one said. The mirror knows that, the store checks that it is still so. */
async function report(
  command: ReportHost & { atMs: number },
  { placement, mirror }: { readonly placement: PlacementStore; readonly mirror: ReportMirror },
): Promise<CommitResult> {
  const host = mirror.host(command.host);
  const provider = mirror.provider(command.providerUuid);
  if (host && provider && isKnown(command, host, provider)) {
    const revisions = { hostRevision: host.revision, providerRevision: provider.revision };
    const result = await placement.heartbeat({ ...command, ...revisions });
    if (result.kind !== 'changed') return result;
  }
  return placement.commit(command);
}

function asCommand(stats: UpdateResourceStatsRequest): ReportHost {
  return {
    kind: 'report_host',
    host: stats.host,
    providerUuid: stats.providerUuid,
    cell: stats.cell,
    serviceHost: stats.serviceHost,
    availabilityZone: stats.availabilityZone,
    agentRun: stats.agentRun,
    sequence: stats.sequence,
    inventories: withExternalUsage(stats),
    traits: stats.traits,
    aggregates: stats.aggregates,
    capabilities: stats.capabilities,
    ioOps: stats.ioOps,
    externalInstances: stats.externalInstances,
  };
}

/** What runs there and is not ours is reserved, so that claims keep clear of it. */
function withExternalUsage({ inventories, externalUsage }: UpdateResourceStatsRequest): Inventories {
  const result: Record<string, Inventories[string]> = { ...inventories };
  for (const [resourceClass, used] of Object.entries(externalUsage)) {
    const inventory = inventories[resourceClass];
    if (!inventory || used === 0) continue;
    result[resourceClass] = { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + used) };
  }
  return result;
}

function refusal(result: CommitResult, { host, sequence, providerUuid }: UpdateResourceStatsRequest): BerthError {
  if (result.kind === 'stale') {
    const message = `report ${sequence} of host ${host} is older than report ${result.present}, which is applied`;
    return new BerthError('failed_precondition', 'stale_sequence', message, {
      details: { present: String(result.present) },
    });
  }
  if (result.kind === 'exists' && result.key === host) {
    return new BerthError('failed_precondition', 'name_taken', `another provider has the name ${host}`);
  }
  if (result.kind === 'exists') {
    return new BerthError('failed_precondition', 'provider_taken', `provider ${providerUuid} is another host's`);
  }
  return new BerthError('internal', 'unexpected_commit', `a report was answered '${result.kind}'`);
}
