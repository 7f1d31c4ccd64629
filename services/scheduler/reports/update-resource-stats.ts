import type { Identity } from '#libs/contracts/identity';
import type { UpdateResourceStatsRequest, UpdateResourceStatsResponse } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import type { Inventories } from '#libs/domain/inventory';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore, ReportResult } from '#libs/placement/port/placement-store';
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
  sender: Identity,
  deps: {
    readonly placement: PlacementStore;
    readonly mirror: Pick<Mirror, 'apply'>;
    readonly nowMs: number;
    readonly maxInstances: number;
  },
): Promise<UpdateResourceStatsResponse> {
  validateStats(stats, sender, deps.maxInstances);
  const { instances: _instances, externalUsage: _externalUsage, ...said } = stats;
  const report = { ...said, inventories: withExternalUsage(stats), atMs: deps.nowMs };
  const result = await deps.placement.reportHost(report);
  if (result.kind === 'committed') deps.mirror.apply(result.change);
  else if (result.kind !== 'unchanged') throw refusal(result, stats);
  return { sequence: stats.sequence };
}

/** What workloads use that Berth does not manage is reserved, so that claims leave it free. */
function withExternalUsage({ inventories, externalUsage }: UpdateResourceStatsRequest): Inventories {
  const result: Record<string, Inventories[string]> = { ...inventories };
  for (const [resourceClass, used] of Object.entries(externalUsage)) {
    const inventory = inventories[resourceClass];
    if (!inventory || used === 0) continue;
    result[resourceClass] = { ...inventory, reserved: Math.min(inventory.total, inventory.reserved + used) };
  }
  return result;
}

type Refused = Exclude<ReportResult, { kind: 'committed' | 'unchanged' }>;

function refusal(result: Refused, { host, sequence, providerUuid }: UpdateResourceStatsRequest): BerthError {
  if (result.kind === 'stale') {
    const message = `report ${sequence} of host ${host} is older than report ${result.present}, which is applied`;
    return new BerthError('failed_precondition', 'stale_sequence', message, {
      details: { present: String(result.present) },
    });
  }
  return result.key === host
    ? new BerthError('failed_precondition', 'name_taken', `another provider has the name ${host}`)
    : new BerthError('failed_precondition', 'provider_taken', `provider ${providerUuid} is another host's`);
}
