import { authorizedFetch } from '#libs/auth/authorized-fetch';
import { KeystoneHttp } from '#libs/auth/keystone-http';
import { KeystoneLogin, type LoginConfig } from '#libs/auth/keystone-login';
import { BerthError } from '#libs/domain/errors';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { CellOfHost } from './cells';
import type { FactSource } from './nova-facts';
import { readAggregate, readInstances, readNode, readService, rowsOf } from './read-answers';

export interface NovaApiConfig extends LoginConfig {
  /** `http://controller:8774/v2.1` */
  readonly apiUrl: string;
}

/** The last microversion in which hypervisors tell their versions, processors and workload. */
const MICROVERSION = 'compute 2.87';
const PAGE = 1_000;
/** More rows than any Nova has. */
const MAX_PAGES = 200;

/** Nova's HTTP API as a source of facts, with a token of Keystone's. */
export function openNovaApi(
  config: NovaApiConfig,
  cellOf: CellOfHost,
  deps: Pick<RuntimeDeps, 'clock' | 'log'>,
): FactSource & { close(): Promise<void> } {
  const keystone = new KeystoneHttp(config, deps);
  const login = new KeystoneLogin(keystone, config, deps);
  const root = config.apiUrl.replace(/\/+$/, '');

  const get = async (path: string, signal: AbortSignal): Promise<unknown> => {
    const headers = { 'openstack-api-version': MICROVERSION };
    const { status, body } = await authorizedFetch(login, root + path, { headers, signal });
    if (status === 200) return body;
    throw notAnswered(path, status);
  };
  const hypervisors = async (query: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>[]> => {
    const all: Readonly<Record<string, unknown>>[] = [];
    let marker = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const path = `/os-hypervisors/detail?limit=${PAGE}${query}${marker}`;
      const rows = rowsOf(await get(path, signal), 'hypervisors');
      all.push(...rows);
      if (rows.length < PAGE) return all;
      marker = `&marker=${encodeURIComponent(String(rows.at(-1)?.['id']))}`;
    }
    throw new BerthError('resource_exhausted', 'too_many_nodes', `Nova has more than ${MAX_PAGES * PAGE} nodes`);
  };

  return {
    async services(signal) {
      return rowsOf(await get('/os-services?binary=nova-compute', signal), 'services').map(readService);
    },
    async nodes(signal) {
      return (await hypervisors('', signal)).map((row) => readNode(row, cellOf));
    },
    async aggregates(signal) {
      return rowsOf(await get('/os-aggregates', signal), 'aggregates').map(readAggregate);
    },
    async instances(signal) {
      return readInstances(await hypervisors('&with_servers=true', signal));
    },
    close: async () => keystone.close(),
  };
}

function notAnswered(path: string, status: number): BerthError {
  const hint = status === 403 ? '; its user needs a role that reads os-services, os-hypervisors and os-aggregates' : '';
  return new BerthError('unavailable', 'nova_refused', `Nova's API answers ${status} to GET ${path}${hint}`);
}
