import { type Channel, type ChannelModel, connect } from 'amqplib';
import { MAX_DEAD_LETTER_BYTES, MAX_DEAD_LETTERS } from '#libs/bus/handling/dead-letter';
import { openBus } from '#libs/bus/open';
import { DEAD_LETTERS } from '#libs/bus/port';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import { type RabbitmqServer, startRabbitmq } from '#libs/testing/servers/servers';
import { eventually } from '../../integration/test-cell';
import { deleteQueue, queueInfo } from '../fleet/broker-control';

/* Dead letters on RabbitMQ as it is deployed: they never take more of its disk than their bound, whoever made their queue. */

const LARGEST = Buffer.alloc(4_194_304);
const COUNT = 80;

let credentials: DeployedCredentials;
let broker: RabbitmqServer;
let connection: ChannelModel;

beforeAll(async () => {
  credentials = deployedCredentials();
  broker = await startRabbitmq({ config: { load_definitions: credentials.definitionsFile } });
  connection = await connect(credentials.brokerUrl('conductor', broker.port));
});
afterAll(async () => {
  await connection?.close();
  await broker?.stop();
  credentials?.remove();
});

async function fill(): Promise<number> {
  const channel = await connection.createConfirmChannel();
  for (let n = 0; n < COUNT; n++) channel.sendToQueue(DEAD_LETTERS, LARGEST, { persistent: true });
  await channel.waitForConfirms();
  await channel.close();
  return Number(await broker.eval(queueInfo(DEAD_LETTERS, 'message_bytes', credentials.virtualHost)));
}

async function isBound(): Promise<boolean> {
  return (await broker.eval(queueInfo(DEAD_LETTERS, 'arguments', credentials.virtualHost))).includes(
    'x-max-length-bytes',
  );
}

it('keeps the newest within the bound', async () => {
  const bytes = await fill();
  expect(bytes).toBeLessThanOrEqual(MAX_DEAD_LETTER_BYTES);
  expect(bytes).toBeGreaterThan(MAX_DEAD_LETTER_BYTES - 2 * LARGEST.length);
});

it('keeps the bound in a queue that an older version made, which is used as it is until somebody deletes it', async () => {
  await broker.eval(deleteQueue(DEAD_LETTERS, credentials.virtualHost));
  const channel: Channel = await connection.createChannel();
  await channel.assertQueue(DEAD_LETTERS, { durable: true, maxLength: MAX_DEAD_LETTERS });
  const warn = jest.fn();
  const around = {
    clock: systemClock(),
    random: systemRandom,
    log: { ...silentLog, warn },
    metrics: createMetrics({}),
  };
  const bus = await openBus({ busUrl: credentials.brokerUrl('conductor', broker.port) }, around);
  await bus.declare(BUILD_REQUESTS);
  expect(warn.mock.calls).toEqual([[{ event: 'bus_queue_of_old_version', queue: DEAD_LETTERS }, expect.any(String)]]);
  expect(await fill()).toBeLessThanOrEqual(MAX_DEAD_LETTER_BYTES);
  await broker.eval(deleteQueue(DEAD_LETTERS, credentials.virtualHost));
  // A bus looks every few seconds whether all is there.
  await eventually('the queue is there again, with its bound', isBound, 60_000);
  await bus.close();
});
