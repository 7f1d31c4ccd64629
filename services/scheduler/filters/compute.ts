import type { Check, ClassFilter, Reason } from './filter';

/**
 * compute: only hosts that are up and enabled.
 *
 * A host is up while its agent reports (`BERTH_SCHEDULER_HOST_TIMEOUT_MS`), and enabled unless an operator says
 * `berth host disable`. Reasons: `host_down`, `host_disabled`.
 */
export const computeFilter: ClassFilter = {
  kind: 'class',
  name: 'compute',
  prepare: () => [isUp, isEnabled],
};

const DOWN: Reason = { symbol: 'host_down', phrase: 'are down' };
const DISABLED: Reason = { symbol: 'host_disabled', phrase: 'are disabled' };

const isUp: Check = {
  refuse: ({ host }) => (host.up ? undefined : DOWN),
  describe: () => 'its agent does not report',
};

const isEnabled: Check = {
  refuse: ({ host }) => (host.enabled ? undefined : DISABLED),
  describe: ({ host }) => `disabled${host.disabledReason === '' ? '' : `: ${host.disabledReason}`}`,
};
