import type { Check, ClassFilter, Reason } from './filter';

/**
 * compute: only hosts that are up and enabled, and that do not fail build after build.
 *
 * A host is up while its agent reports (`BERTH_SCHEDULER_HOST_TIMEOUT_MS`), and enabled unless an operator says
 * `berth host disable`. One that keeps failing is in quarantine (`BERTH_SCHEDULER_QUARANTINE_FAILURES`): it gets nothing for
 * a pause that grows, then one build as a probe. Reasons: `host_down`, `host_disabled`, `host_quarantined`.
 */
export const computeFilter: ClassFilter = {
  kind: 'class',
  name: 'compute',
  prepare: () => [isUp, isEnabled, isTrusted],
};

const DOWN: Reason = { symbol: 'host_down', phrase: 'are down' };
const DISABLED: Reason = { symbol: 'host_disabled', phrase: 'are disabled' };
const QUARANTINED: Reason = { symbol: 'host_quarantined', phrase: 'are in quarantine' };

const isUp: Check = {
  refuse: ({ host }) => (host.up ? undefined : DOWN),
  describe: () => 'its agent does not report',
};

const isEnabled: Check = {
  refuse: ({ host }) => (host.enabled ? undefined : DISABLED),
  describe: ({ host }) => `disabled${host.disabledReason === '' ? '' : `: ${host.disabledReason}`}`,
};

const isTrusted: Check = {
  refuse: ({ quarantine }) => (quarantine === undefined || quarantine.isOpen ? undefined : QUARANTINED),
  describe: ({ host, quarantine }) => {
    const until = new Date(quarantine?.untilMs ?? 0).toISOString();
    return `in quarantine, next probe after ${until}: ${host.failuresInARow} failures in a row`;
  },
};
