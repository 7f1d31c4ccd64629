import { randomUUID } from 'node:crypto';
import { PASSWORD, startFakeKeystone } from '#libs/auth/testing/fake-keystone';
import { inventory } from '#libs/domain/inventory';
import type { Command } from '#libs/placement/port/placement-store';
import { RedisPlacementStore } from '#libs/placement/redis/placement-store';
import { connectRedis } from '#libs/redis/connect';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type Child, startChild } from '#libs/testing/servers/child';
import { startFakeNovaApi } from '../../../services/nova-scheduler/testing/fake-nova-api';
import { startNovaClient } from './nova-client';

export const CELL_UUID = 'ce110000-0000-4000-8000-000000000001';

const INVENTORIES = { VCPU: inventory(16), MEMORY_MB: inventory(16_384), DISK_GB: inventory(1_000) };

/** Compute nodes in placement and in a Nova API, schedulers for Nova on both, and Nova's own client. */
export async function aNovaCloud(
  servers: { readonly rabbitmq: string; readonly redis: string },
  hostCount: number,
  inventories = INVENTORIES,
) {
  const cell = `nova-${randomUUID().slice(0, 8)}`;
  const options = { log: silentLog, random: systemRandom, commandTimeoutMs: 5_000, connectionName: 'nova-cloud' };
  const client = await connectRedis(servers.redis, options);
  const store = new RedisPlacementStore(client, { cell, streamLength: 10_000 });
  const expiry = () => new Date(systemClock().now() + 3_600_000).toISOString();
  const [keystone, api] = await Promise.all([startFakeKeystone(expiry), startFakeNovaApi()]);
  const children: Child[] = [];
  const commit = (command: object) => store.commit({ ...command, atMs: systemClock().now() } as Command);
  for (let i = 1; i <= hostCount; i++) {
    const uuid = randomUUID();
    await commit({ kind: 'put_provider', uuid, name: `h${i}`, parentUuid: undefined, mode: 'create' });
    await commit({ kind: 'write_inventories', providerUuid: uuid, generation: undefined, inventories, replace: true });
    api.services.push({ host: `h${i}`, state: 'up', status: 'enabled' });
    api.hypervisors.push({
      id: uuid,
      hypervisor_hostname: `h${i}`,
      service: { host: `h${i}` },
      hypervisor_type: 'QEMU',
    });
  }
  const settings = {
    BERTH_STORE_URL: servers.redis,
    BERTH_CELL: cell,
    BERTH_NOVA_TRANSPORT_URL: servers.rabbitmq,
    BERTH_NOVA_API_URL: api.url,
    BERTH_NOVA_KEYSTONE_URL: keystone.url,
    BERTH_NOVA_KEYSTONE_PASSWORD: PASSWORD,
    BERTH_NOVA_CELLS: CELL_UUID,
  };

  return {
    store,
    api,
    /** Settings of a scheduler. */
    settings,
    /** Starts a scheduler with settings of its own. */
    async launch(more: Readonly<Record<string, string>> = {}): Promise<Child> {
      const env = { ...settings, BERTH_HTTP_PORT: '0', BERTH_LOG_FORMAT: 'json', ...more };
      const child = startChild('services/cli/main.ts', ['nova-scheduler'], env);
      children.push(child);
      await child.says('oslo_serving');
      return child;
    },
    /** Starts any other command in a cell, until the cloud closes. */
    async start(args: readonly string[], inCell: string, word: string | RegExp, more = {}): Promise<Child> {
      const env = {
        BERTH_STORE_URL: servers.redis,
        BERTH_CELL: inCell,
        BERTH_HTTP_PORT: '0',
        BERTH_LOG_FORMAT: 'json',
      };
      const child = startChild('services/cli/main.ts', args, { ...env, ...more });
      children.push(child);
      await child.says(word);
      return child;
    },
    /** Starts a scheduler of Berth's own requests, which explains Nova's, too; resolves to the environment of commands that ask it. */
    async launchExplainer(): Promise<Readonly<Record<string, string>>> {
      const { BERTH_CELL } = settings;
      const env = { BERTH_BUS_URL: servers.rabbitmq, BERTH_CELL };
      await this.start(['scheduler'], BERTH_CELL, '"running"', env);
      return env;
    },
    /** Runs steps of `nova_client.py`; returns the output of each. */
    client(...steps: readonly string[]): Promise<Record<string, unknown>[]> {
      const nova = startNovaClient(servers.rabbitmq);
      return nova.run(steps).finally(() => nova.stop());
    },
    async close() {
      for (const child of children) child.process.kill('SIGTERM');
      await Promise.all(children.map(({ exit }) => exit));
      await Promise.all([store.close(), keystone.close(), api.close()]);
    },
  };
}
