import { environment } from '../libs/runtime/system';
import type { TestServer } from '../libs/testing/server-process';

/** Variables by which the tests of a run find the servers that the global setup started. */
export const SERVER_URLS = { rabbitmq: 'TEST_RABBITMQ_URL', redis: 'TEST_REDIS_URL' } as const;

/**
 * The URL of the run's private RabbitMQ or Redis, for contract and integration tests. Files run side by side on them:
 * use names (queues, cell tags) of your own.
 */
export function sharedServer(kind: keyof typeof SERVER_URLS): string {
  const url = environment()[SERVER_URLS[kind]];
  if (url === undefined) throw new Error(`no private ${kind} runs: this test belongs in test/integration`);
  return url;
}

// Two modules, setup and teardown, in one process: what they share hangs on the global object.
const held = globalThis as typeof globalThis & { berthTestServers?: readonly TestServer[] };

export function holdServers(servers: readonly TestServer[]): void {
  held.berthTestServers = servers;
}

export async function releaseServers(): Promise<void> {
  await Promise.all((held.berthTestServers ?? []).map((server) => server.stop()));
}
