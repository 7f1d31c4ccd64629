import type { TestServer } from '#libs/testing/servers/server-process';
import { environment } from '../libs/runtime/system';

/** The variables with the URLs of the servers that the global setup started. */
export const SERVER_URLS = { rabbitmq: 'TEST_RABBITMQ_URL', redis: 'TEST_REDIS_URL' } as const;

/**
 * The URL of the run's private RabbitMQ or Redis, for integration tests. All files share them: use queues and cells with
 * names of your own.
 */
export function sharedServer(kind: keyof typeof SERVER_URLS): string {
  const url = environment()[SERVER_URLS[kind]];
  if (url === undefined) throw new Error(`no private ${kind} runs: this test belongs in test/integration`);
  return url;
}

// Setup and teardown run in one process but in separate module registries: they share the global object only.
const held = globalThis as typeof globalThis & { berthTestServers?: readonly TestServer[] };

export function holdServers(servers: readonly TestServer[]): void {
  held.berthTestServers = servers;
}

export async function releaseServers(): Promise<void> {
  await Promise.all((held.berthTestServers ?? []).map((server) => server.stop()));
}
