import { invalidArgument } from '#libs/domain/errors';
import { announce } from '#libs/placement/announce';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { ServiceProcess } from '#libs/runtime/run-service';
import { openPlacementClient } from './elsewhere/placement-client';
import { parseCells } from './facts/cells';
import { openNovaApi } from './facts/nova-api';
import { openNovaDatabase } from './facts/nova-database';
import type { DatabaseSource, FactSource, FactSources } from './facts/nova-facts';
import { jsonFilter } from './filters/json';
import { type NovaConfig, novaOptions } from './options';
import { startNovaScheduler } from './start';

const tables = { placement: placementOptions, nova: novaOptions } as const;

/** `berth nova-scheduler`: answers Nova's scheduler RPC in the place of nova-scheduler. */
export const novaScheduler: ServiceProcess<typeof tables> = {
  name: 'nova-scheduler',
  prefix: 'BERTH_NOVA_',
  tables,
  async start({ placement: store, nova: config }, opening) {
    const tellsCells = config.cells.length > 0 || config.databaseUrl !== '';
    if (config.apiUrl === '' || config.keystoneUrl === '' || !tellsCells)
      throw invalidArgument(
        'missing_setting',
        'set BERTH_NOVA_API_URL, BERTH_NOVA_KEYSTONE_URL, and BERTH_NOVA_CELLS or BERTH_NOVA_DATABASE_URL',
      );
    const cellOf = parseCells(config.cells);
    const placement = await opening.open('placement store', openPlacementStore(store, opening));
    await opening.open('presence', announce(placement, 'nova-scheduler', { ...opening, clock: placement.clock }));
    const mirror = await opening.open('mirror', Mirror.open(placement, opening));
    const api = await opening.open('Nova API', openNovaApi(config, cellOf, opening));
    const { databaseUrl: url } = config;
    const reading = { ...opening, describesHosts: config.filters.includes(jsonFilter.name) };
    const database = url === '' ? {} : await opening.open('Nova database', openNovaDatabase(url, reading));
    const source = novaSource(api, database, config);
    const isElsewhere = config.placementUrl !== '';
    const client = isElsewhere
      ? await opening.open('OpenStack Placement', openPlacementClient(config, opening))
      : undefined;
    const deps = { ...opening, clock: placement.clock, placement, mirror, source, config, client };
    const running = await startNovaScheduler(deps);
    process.on('SIGHUP', () => void running.refresh());
    return running;
  },
};

/** The facts of both sources; images of instances are read where hosts are weighed by them. */
function novaSource(
  api: FactSource,
  { images, ...database }: Partial<DatabaseSource>,
  { weightImageProperties }: NovaConfig,
): FactSources {
  const isAsked = images !== undefined && weightImageProperties !== 0;
  return { ...api, ...database, ...(isAsked && { images }) };
}
