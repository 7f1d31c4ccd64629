import { busOptions } from '#libs/bus/options';
import { placementOptions } from '#libs/placement/options';
import { claimKeyOption, claimTtlOption } from '#libs/placement/sealed/claim-key';
import type { Options } from '#libs/runtime/config';
import { addressOptions, processOptions } from '#libs/runtime/options';
import { agentOptions } from '../compute-agent/options';
import { conductorOptions } from '../conductor/options';
import { consoleOptions } from '../console/options';
import { novaOptions } from '../nova-scheduler/options';
import { placementApiOptions } from '../placement-api/options';
import { schedulerOptions } from '../scheduler/options';
import { topConductorOptions } from '../top-conductor/options';
import { topSchedulerOptions } from '../top-scheduler/options';
import { brokerOptions, clientOptions, novaClientOptions, placementClientOptions } from './client/client-options';
import { contextOptions } from './contexts/options';
import { importOptions } from './placement-import/options';

/**
 * Every setting of Berth, by reader. A `BERTH_*` variable that is missing here is refused as unknown. For a setting in
 * two tables `berth config` shows the first.
 */
export const settingsTables: readonly { readonly of: string; readonly options: Options }[] = [
  { of: 'every process', options: addressOptions },
  { of: 'every service', options: processOptions },
  { of: 'the bus', options: busOptions },
  { of: 'the store', options: { ...placementOptions, claimKey: claimKeyOption, claimTtlMs: claimTtlOption } },
  { of: 'schedulers', options: schedulerOptions },
  { of: 'conductors', options: conductorOptions },
  { of: 'compute agents', options: agentOptions },
  { of: 'the placement API', options: placementApiOptions },
  { of: 'the scheduler for Nova', options: novaOptions },
  { of: 'the console', options: consoleOptions },
  { of: 'schedulers of the top', options: topSchedulerOptions },
  { of: 'conductors of the top', options: topConductorOptions },
  {
    of: 'commands',
    options: {
      ...contextOptions,
      ...placementClientOptions,
      shadowUrl: novaClientOptions.url,
      ...clientOptions,
      ...brokerOptions,
    },
  },
  { of: 'imports into the placement API', options: importOptions },
];
