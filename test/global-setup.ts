import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { addVirtualHost, holdServers, SERVER_URLS, virtualHost } from './shared-servers';

/** Starts the private RabbitMQ and Redis that the tests of a run share, with a virtual host for each worker. */
export default async function setup({ maxWorkers }: { readonly maxWorkers: number }): Promise<void> {
  const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  for (let worker = 2; worker <= maxWorkers; worker++) {
    const name = virtualHost(worker).slice(1);
    await rabbitmq.eval(addVirtualHost(name));
  }
  holdServers([rabbitmq, redis]);
  // Jest's workers inherit the environment only.
  // oxlint-disable-next-line no-restricted-properties -- the only way from jest's global setup to its workers
  Object.assign(process.env, { [SERVER_URLS.rabbitmq]: rabbitmq.url, [SERVER_URLS.redis]: redis.url });
}
