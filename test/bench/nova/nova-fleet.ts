import { sleep } from '#libs/domain/clock';
import { inventory } from '#libs/domain/inventory';
import { systemClock } from '#libs/runtime/system';
import { startMariadb } from '#libs/testing/servers/mariadb';
import { freePort } from '#libs/testing/servers/server-process';
import type { RabbitmqServer } from '#libs/testing/servers/servers';
import { findNova, NovaProcesses } from '../../fleet/whole-nova/nova-processes';
import { aNovaCloud } from '../../integration/nova/nova-cloud';
import { startApi } from '../api-process';
import { endBerth, isReady, startBerth } from '../berth-process';
import { familyCpuSeconds } from '../harness';

/** A scheduler under measurement. */
export interface MeasuredScheduler {
  readonly topic: string;
  /** Processor time so far, in seconds, of all its processes. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** Processors of a host are what fills last, and they do not within a run. */
const INVENTORIES = {
  VCPU: inventory(64, { allocationRatio: 16 }),
  MEMORY_MB: inventory(1_048_576),
  DISK_GB: inventory(100_000),
};
const STOCK_TOPIC = 'scheduler';
const BERTH_TOPIC = 'berth-scheduler';
const STOCK_WORKERS = 2;
const clock = systemClock();

/** Compute nodes in Berth's store and in an API like Nova's. */
export const aBenchCloud = (servers: { readonly rabbitmq: string; readonly redis: string }, hostCount: number) =>
  aNovaCloud(servers, hostCount, INVENTORIES);

type Cloud = Awaited<ReturnType<typeof aNovaCloud>>;

/** Names of the hosts of a cloud. */
export const hostNamesOf = ({ api }: Cloud) => api.hypervisors.map((row) => String(row['hypervisor_hostname']));

/** `berth nova-scheduler` beside the stock one, on a topic of its own. */
export async function startBerths(cloud: Cloud): Promise<MeasuredScheduler> {
  const port = await freePort();
  const child = startBerth('nova-scheduler', {
    ...cloud.settings,
    BERTH_NOVA_TOPIC: BERTH_TOPIC,
    BERTH_HTTP_PORT: String(port),
  });
  while (!(await isReady(port))) await sleep(clock, 50);
  return {
    topic: BERTH_TOPIC,
    cpuSeconds: () => familyCpuSeconds(child.pid ?? 0),
    stop: () => endBerth(child, 'SIGTERM'),
  };
}

/**
 * A stock nova-scheduler of two workers with all hosts in its database, on Berth's placement API. Ready once its workers consume, and
 * have no sync of instances left to read.
 */
export async function startStock(cloud: Cloud, rabbitmq: RabbitmqServer): Promise<MeasuredScheduler> {
  const [mariadb, placement] = await Promise.all([
    startMariadb(),
    startApi(cloud.settings.BERTH_STORE_URL, cloud.settings.BERTH_CELL),
  ]);
  const addresses = {
    transportUrl: `${rabbitmq.url.replace('amqp:', 'rabbit:')}/`,
    database: `mysql+pymysql://root@127.0.0.1:${mariadb.port}`,
    keystone: 'http://127.0.0.1:9',
    adminPassword: '',
    placement: `http://127.0.0.1:${placement.port}`,
    stub: 'http://127.0.0.1:9',
    apiPort: 0,
  };
  const nova = new NovaProcesses(findNova(), addresses, {
    placement: { auth_type: 'admin_token', endpoint: addresses.placement, token: 'admin' },
    scheduler: { workers: STOCK_WORKERS, query_placement_for_image_type_support: false },
  });
  const cellUuid = await nova.createDatabases(mariadb);
  for (const statement of rowsOf(cloud)) await mariadb.sql(statement);
  await nova.mapHosts(mariadb, cellUuid, hostNamesOf(cloud));
  const scheduler = await nova.launch('scheduler', 'stock', { service_down_time: '86400', log_level: 'WARNING' });
  while ((await consumersOf(rabbitmq, STOCK_TOPIC)) < STOCK_WORKERS) await sleep(clock, 500);
  return {
    topic: STOCK_TOPIC,
    cpuSeconds: () => familyCpuSeconds(scheduler.pid ?? 0),
    async stop() {
      await nova.stop();
      await Promise.all([placement.stop(), mariadb.stop()]);
    },
  };
}

/** Resolves when no fanout to a topic waits to be read. */
export async function fanoutsRead(rabbitmq: RabbitmqServer, topic: string): Promise<void> {
  const waiting = async () => {
    const rows = (await queues(rabbitmq, 'messages')).filter(([name]) => name.startsWith(`${topic}_fanout`));
    return rows.reduce((sum, [, messages]) => sum + messages, 0);
  };
  while ((await waiting()) > 0) await sleep(clock, 500);
}

async function consumersOf(rabbitmq: RabbitmqServer, queue: string): Promise<number> {
  return (await queues(rabbitmq, 'consumers')).find(([name]) => name === queue)?.[1] ?? 0;
}

async function queues(rabbitmq: RabbitmqServer, column: string): Promise<(readonly [string, number])[]> {
  const lines = (await rabbitmq.ctl('-q', 'list_queues', '--no-table-headers', 'name', column)).trim().split('\n');
  return lines.map((line) => {
    const [name = '', number] = line.split('\t');
    return [name, Number(number)] as const;
  });
}

const ROWS_AT_ONCE = 1_000;

/** Statements that fill a cell with the services and nodes of a cloud, as nova-compute writes them. */
function rowsOf({ api }: Cloud): string[] {
  const now = 'utc_timestamp()';
  const statements: string[] = [];
  for (let from = 0; from < api.hypervisors.length; from += ROWS_AT_ONCE) {
    const hosts = api.hypervisors.slice(from, from + ROWS_AT_ONCE).map(({ id, hypervisor_hostname: name }) => {
      return { uuid: String(id), name: String(name) };
    });
    const services = hosts.map(({ name }) => {
      return `(uuid(), '${name}', 'nova-compute', 'compute', 1, 0, ${now}, 0, ${SERVICE_VERSION}, 0, ${now}, ${now})`;
    });
    const nodes = hosts.map(({ uuid, name }) => {
      const told = `'${CPU_INFO}', '${SUPPORTED}', '${STATISTICS}', 'QEMU', 6002000, '[]'`;
      const amounts = '64, 1048576, 100000, 0, 0, 0, 100000, 1048576, 100000, 0, 0, 16.0, 1.0, 1.0';
      return `('${uuid}', '${name}', '${name}', '127.0.0.1', ${told}, ${amounts}, 1, 0, ${now}, ${now})`;
    });
    statements.push(
      `insert into nova_cell1.services (${SERVICE_COLUMNS}) values ${services.join(', ')}`,
      `insert into nova_cell1.compute_nodes (${NODE_COLUMNS}) values ${nodes.join(', ')}`,
    );
  }
  return statements;
}

/** Nova 26's. */
const SERVICE_VERSION = 66;
const SERVICE_COLUMNS =
  'uuid, host, `binary`, topic, report_count, disabled, last_seen_up, forced_down, version, deleted, created_at, updated_at';
const NODE_COLUMNS = `uuid, host, hypervisor_hostname, host_ip, cpu_info, supported_instances, stats, hypervisor_type, hypervisor_version,
  metrics, vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, disk_available_least, free_ram_mb, free_disk_gb,
  current_workload, running_vms, cpu_allocation_ratio, ram_allocation_ratio, disk_allocation_ratio, mapped, deleted, created_at, updated_at`;
const CPU_INFO = JSON.stringify({ arch: 'x86_64', model: 'Cascadelake-Server', vendor: 'Intel', features: [] });
const SUPPORTED = JSON.stringify([['x86_64', 'qemu', 'hvm']]);
const STATISTICS = JSON.stringify({ failed_builds: '0', num_instances: '0', io_workload: '0' });
