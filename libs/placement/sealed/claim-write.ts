import type { ConsumerGuard, ConsumerWrite } from '../port/placement-store';
import type { AllocationRequest } from './allocation-request';

/** An allocation request as the write that claims it, for an instance of a conductor. */
export function claimWrite(request: AllocationRequest, expect: ConsumerGuard = { kind: 'any' }): ConsumerWrite {
  const { consumerUuid: uuid, projectId, userId, allocations, mappings, group, host } = request;
  const {
    spreadAmong: among = [],
    spreadDomain: domain,
    priority,
    isProtected,
    flavor,
    reservation,
    endsAtMs,
  } = request;
  const spread = domain === undefined ? {} : { spread: { domain, among } };
  return {
    uuid,
    projectId,
    userId,
    allocations,
    mappings,
    expect,
    consumerType: 'INSTANCE',
    owner: 'conductor',
    ...(priority ? { priority } : {}),
    ...(isProtected ? { isProtected } : {}),
    ...(flavor ? { flavor } : {}),
    ...(reservation ? { reservation } : {}),
    ...(endsAtMs ? { endsAtMs } : {}),
    ...(group === undefined ? {} : { group: { group, host, ...spread } }),
  };
}
