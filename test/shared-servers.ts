import { randomUUID } from 'node:crypto';
import type { DeployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { evaluate } from '#libs/testing/servers/servers';
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
  const { JEST_WORKER_ID: worker = '1' } = environment();
  const url = urlOf(kind);
  return kind === 'redis' ? `${url}/${Number(worker) - 1}` : `${url}${virtualHost(Number(worker))}`;
}

function urlOf(kind: keyof typeof SERVER_URLS): string {
  const { [SERVER_URLS[kind]]: url } = environment();
  if (url === undefined)
    throw new Error(`no private ${kind} runs: this test belongs in test/integration or test/faults`);
  return url;
}

/** A virtual host of one test on the run's RabbitMQ, for tests that break no broker: one takes seconds to start. */
export interface OwnVirtualHost {
  /** The URL of its user `guest`; with credentials it has their users only. */
  readonly url: string;
  readonly port: number;
  /** See `RabbitmqServer`. */
  eval(expression: string): Promise<string>;
  /** Deletes it, with all that is in it. */
  stop(): Promise<void>;
}

/** @param credentials  the users and rights of `deploy/` that it has; without, `guest` may do all */
export async function ownVirtualHost(credentials?: DeployedCredentials): Promise<OwnVirtualHost> {
  const shared = urlOf('rabbitmq');
  const port = Number(new URL(shared).port);
  const name = credentials?.virtualHost ?? randomUUID();
  await evaluate(port, credentials ? importDefinitions(credentials.definitionsFile) : addVirtualHost(name));
  return {
    url: `${shared}/${name}`,
    port,
    eval: (expression) => evaluate(port, expression),
    async stop() {
      await evaluate(port, `rabbit_vhost:delete(<<"${name}">>, <<"a test">>)`);
    },
  };
}

/** One after the other: where two at once add the same user, one of them fails. */
function importDefinitions(file: string): string {
  const all = `{ok, Text} = file:read_file("${file}"), ok = rabbit_definitions:import_raw(Text)`;
  return `ok = global:trans({definitions, self()}, fun() -> ${all} end)`;
}

/** An Erlang expression that adds a virtual host, in which `guest` may do all. */
export function addVirtualHost(name: string): string {
  const all = '<<".*">>, <<".*">>, <<".*">>';
  const permit = `rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"${name}">>, ${all}, <<"a test">>)`;
  return `rabbit_vhost:add(<<"${name}">>, <<"a test">>), ${permit}`;
}

// Setup and teardown run in one process but in separate module registries: they share the global object only.
const held = globalThis as typeof globalThis & { berthTestServers?: readonly TestServer[] };

export function holdServers(servers: readonly TestServer[]): void {
  held.berthTestServers = servers;
}

export async function releaseServers(): Promise<void> {
  await Promise.all((held.berthTestServers ?? []).map((server) => server.stop()));
}
