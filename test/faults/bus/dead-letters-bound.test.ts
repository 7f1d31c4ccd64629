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

/* Dead letters on RabbitMQ as it is deployed: they never take more of its disk than their bound, whoever made their queue. */

jest.setTimeout(180_000);

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
  const rows = await broker.ctl('-p', 'berth', 'list_queues', 'name', 'message_bytes', '--no-table-headers');
  return Number(/dead-letters\t(\d+)/.exec(rows)?.[1]);
}

it('keeps the newest within the bound', async () => {
  const bytes = await fill();
  expect(bytes).toBeLessThanOrEqual(MAX_DEAD_LETTER_BYTES);
  expect(bytes).toBeGreaterThan(MAX_DEAD_LETTER_BYTES - 2 * LARGEST.length);
});

it('keeps the bound in a queue that an older version made, which is used as it is until somebody deletes it', async () => {
  await broker.ctl('-p', 'berth', 'delete_queue', DEAD_LETTERS);
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
  await broker.ctl('-p', 'berth', 'delete_queue', DEAD_LETTERS);
  // A bus looks every few seconds whether all is there; each question takes about one.
  let found = '';
  for (let n = 0; n < 60 && !found.includes('x-max-length-bytes'); n++)
    found = await broker.ctl('-p', 'berth', 'list_queues', 'name', 'arguments', '--no-table-headers');
  expect(found).toMatch(/dead-letters.*x-max-length-bytes/);
  await bus.close();
});
