import type { TestServer } from '#libs/testing/servers/server-process';
import { environment } from '../libs/runtime/system';

/** The variables with the URLs of the servers that the global setup started. */
export const SERVER_URLS = { rabbitmq: 'TEST_RABBITMQ_URL', redis: 'TEST_REDIS_URL' } as const;

/** The virtual host of a worker of jest; the first has RabbitMQ's own. */
export const virtualHost = (worker: number) => (worker === 1 ? '' : `/worker-${worker}`);

/**
 * The URL of the run's private RabbitMQ or Redis, for integration tests: a virtual host and a database of this worker. Files
 * of one worker share them: use queues and cells with names of your own.
 */
export function sharedServer(kind: keyof typeof SERVER_URLS): string {
  const { [SERVER_URLS[kind]]: url, JEST_WORKER_ID: worker = '1' } = environment();
  if (url === undefined) throw new Error(`no private ${kind} runs: this test belongs in test/integration`);
  return kind === 'redis' ? `${url}/${Number(worker) - 1}` : `${url}${virtualHost(Number(worker))}`;
}

// Setup and teardown run in one process but in separate module registries: they share the global object only.
const held = globalThis as typeof globalThis & { berthTestServers?: readonly TestServer[] };

export function holdServers(servers: readonly TestServer[]): void {
  held.berthTestServers = servers;
}

export async function releaseServers(): Promise<void> {
  await Promise.all((held.berthTestServers ?? []).map((server) => server.stop()));
}
