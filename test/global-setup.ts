import { startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { holdServers, SERVER_URLS } from './shared-servers';

/** Starts the private RabbitMQ and Redis that the integration tests of a run share. */
export default async function setup(): Promise<void> {
  const [rabbitmq, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  holdServers([rabbitmq, redis]);
  // Jest's workers inherit the environment only.
  // oxlint-disable-next-line no-restricted-properties -- the only way from jest's global setup to its workers
  Object.assign(process.env, { [SERVER_URLS.rabbitmq]: rabbitmq.url, [SERVER_URLS.redis]: redis.url });
}
