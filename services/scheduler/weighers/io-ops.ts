import type { ClassWeigher } from './weigher';

/**
 * io_ops: prefers hosts with fewer builds in progress.
 *
 * `BERTH_SCHEDULER_WEIGHT_IO_OPS`, -1 by default: negative avoids busy hosts. Raw: builds that the host reports and claims
 * that it has not had time to report; eight or more are as busy as it gets.
 */
export const ioOpsWeigher: ClassWeigher = {
  kind: 'class',
  name: 'io_ops',
  prepare: () => ({ lower: 0, upper: BUSY_BUILDS, raw: (host) => host.buildsInProgress }),
};

const BUSY_BUILDS = 8;
