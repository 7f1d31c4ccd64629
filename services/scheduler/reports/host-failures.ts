import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { suspectedUntilMs } from '../fleet/quarantine';
import { holdsOn } from './discrepancies';
import type { ReportDeps } from './report-deps';

/** True if a host that failed runs an instance claimed there since: it can build again. */
export function hasBuiltSince(stats: UpdateResourceStatsRequest, view: PlacementView): boolean {
  const host = view.host(stats.host);
  if (!host || host.failuresInARow === 0) return false;
  return stats.instances.some(({ instanceUuid, running }) => {
    const claim = running ? view.consumer(instanceUuid) : undefined;
    return claim !== undefined && claim.updatedAtMs > host.lastFailureAtMs && holdsOn(claim, stats, view);
  });
}

/** The host can build again: a quarantine ends. */
export async function clearFailures({ placement, mirror, log }: ReportDeps, host: string, nowMs: number) {
  const result = await placement.commit({ kind: 'clear_failures', host, atMs: nowMs });
  if (result.kind !== 'committed') return;
  mirror.apply(result.change);
  log.info({ event: 'host_built_again', host }, 'host built again after failures');
}

/** A report was refused for what it says. Counted once a pause for a host that is in quarantine already. */
export async function recordRefusal(
  { placement, mirror, config }: ReportDeps,
  { host: name, reason }: { readonly host: string; readonly reason: string },
  nowMs: number,
): Promise<void> {
  const host = mirror.host(name);
  if (!host || (suspectedUntilMs(host, config) ?? 0) > nowMs) return;
  const halfLifeMs = config.failureHalfLifeMs;
  const failure = { kind: 'record_failure', host: name, halfLifeMs, startedAtMs: nowMs, reason } as const;
  const result = await placement.commit({ ...failure, atMs: nowMs });
  if (result.kind === 'committed') mirror.apply(result.change);
}
