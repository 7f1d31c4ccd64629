import type { Identity } from '#libs/contracts/identity';
import type { UpdateResourceStatsRequest } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import { SHARING_TRAIT } from '#libs/domain/provider';

type Reported = Pick<UpdateResourceStatsRequest, 'host' | 'traits' | 'nestedProviders' | 'aggregates'>;

/**
 * Sharing is an operator's decision: a provider that shares, in an aggregate of many hosts, serves all of them, and a host
 * in another tenant's aggregate gets that tenant's instances. So an agent reports neither unless its host is granted it.
 *
 * @param grants  `HOST` and `HOST=UUID` (`BERTH_SCHEDULER_REPORT_GRANTS`)
 * @throws BerthError `permission_denied / sharing_not_granted`
 */
export function requireSharingGranted(stats: Reported, sender: Identity, grants: readonly string[]): void {
  if (sender.kind !== 'agent' || grants.some((grant) => grant.split('=')[0] === stats.host)) return;
  const shares = [stats, ...stats.nestedProviders].some(({ traits }) => traits.includes(SHARING_TRAIT));
  const said = shares ? `the trait ${SHARING_TRAIT}` : `aggregate ${stats.aggregates?.[0]}`;
  if (!shares && (stats.aggregates ?? []).length === 0) return;
  const message = `the agent of host ${stats.host} may not report ${said}: an operator grants it (BERTH_SCHEDULER_REPORT_GRANTS), or writes it by the placement API`;
  const details = { field: shares ? 'traits' : 'aggregates' };
  throw new BerthError('permission_denied', 'sharing_not_granted', message, { details });
}

/** True when a host may take a provider that is there and no host's. */
export function mayTake({ host, providerUuid }: UpdateResourceStatsRequest, grants: readonly string[]): boolean {
  return grants.includes(`${host}=${providerUuid}`);
}
