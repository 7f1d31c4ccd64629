import type { AllocationRequest } from './allocation-request';
import type { ConsumerGuard, ConsumerWrite } from './store';

/** An allocation request as the write that claims it, for an instance that a conductor looks after. */
export function claimWrite(request: AllocationRequest, expect: ConsumerGuard = { kind: 'any' }): ConsumerWrite {
  const { consumerUuid: uuid, projectId, userId, allocations, mappings, group, host } = request;
  return {
    uuid,
    projectId,
    userId,
    allocations,
    mappings,
    expect,
    consumerType: 'INSTANCE',
    owner: 'conductor',
    ...(group === undefined ? {} : { group: { group, host } }),
  };
}
