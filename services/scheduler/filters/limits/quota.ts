import { sentenceOf } from '#libs/domain/quotas/quota';
import type { RequestFilter } from '../filter';

/**
 * quota: no host while the request would exceed a quota of its project.
 *
 * Checked again when the claim is committed, so that two schedulers can't exceed it together. Nova's quota check at
 * the API, with its limits on `instances` and on resource classes. Reason: `quota_exceeded`.
 */
export const quotaFilter: RequestFilter = {
  kind: 'request',
  name: 'quota',
  prepare({ quotaExceeded }) {
    if (quotaExceeded.length === 0) return undefined;
    const sentence = sentenceOf(quotaExceeded);
    const reason = { symbol: 'quota_exceeded', phrase: `are beyond the quota of the project (${sentence})` };
    return { kind: 'only', hosts: NO_HOSTS, reason, describe: () => sentence };
  },
};

const NO_HOSTS: ReadonlySet<number> = new Set();
