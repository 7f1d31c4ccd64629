import type { ServiceProcess } from '#libs/runtime/run-service';
import { computeAgent } from '../compute-agent/main';
import { conductor } from '../conductor/main';
import { placementApi } from '../placement-api/main';
import { scheduler } from '../scheduler/main';

/** The services that `berth NAME` runs. */
export const serviceProcesses: readonly ServiceProcess[] = [scheduler, conductor, computeAgent, placementApi];
