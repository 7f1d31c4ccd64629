import type { ServiceProcess } from '#libs/runtime/run-service';

/** The services that `berth NAME` runs. */
export const serviceProcesses: readonly ServiceProcess[] = [];
