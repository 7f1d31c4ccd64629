import { type ChannelModel, connect, type Options } from 'amqplib';
import { frameCodec, framedMessage } from '#libs/bus/amqp/batching/frame';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS, BUILD_RESULTS } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { randomInt, seededRandom } from '#libs/domain/random';
import { systemClock } from '#libs/runtime/system';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { type Child, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';
import { queueInfo } from '../fleet/broker-control';

/* Malformed messages of every kind in a conductor's queues: each is settled, and the conductor goes on. */

const ROUNDS = 40;
const LONG = 'h'.repeat(255);
const random = seededRandom(5);
const clock = systemClock();

let broker: RabbitmqServer;
let redis: TestServer;
let connection: ChannelModel;
const children: Child[] = [];

beforeAll(async () => {
  [broker, redis] = await Promise.all([startRabbitmq(), startRedis()]);
  const env = {
    BERTH_BUS_URL: broker.url,
    BERTH_STORE_URL: redis.url,
    BERTH_CONDUCTOR_HOLD_MS: '2000',
    BERTH_LOG_LEVEL: 'info',
  };
  for (const name of ['scheduler', 'conductor']) {
    const child = startChild('services/cli/main.ts', [name], env);
    children.push(child);
    await child.says('"msg":"running"');
  }
  connection = await connect(broker.url);
});
afterAll(async () => {
  await connection?.close();
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all([broker?.stop(), redis?.stop()]);
});

interface Sent {
  readonly type: string;
  readonly body: Uint8Array;
}

const uuid = () => random.uuid();

/** A valid message, but for the instances and hosts that it names. */
function valid(queue: string): Sent {
  const instanceUuid = uuid();
  const host = random.next() < 0.3 ? LONG : 'nowhere';
  if (queue === BUILD_RESULTS.name && random.next() < 0.5) {
    const said = { reason: '', message: '', alternates: [], epoch: 1, position: 1 };
    const report = { instanceUuid, host, attempt: 1, claimToken: 1, ...said };
    return { type: buildReportCodec.type, body: buildReportCodec.encode({ ...report, outcome: 'active' }) };
  }
  if (queue === BUILD_RESULTS.name) {
    const running = { instanceUuid, resources: { VCPU: 1 }, projectId: LONG, userId: '', name: '', groupId: '' };
    const untold = { attempt: 1, claimToken: 1, allocationRequest: new Uint8Array() };
    const unclaimed = [{ ...running, ...untold, requestId: '', running: true }];
    const at = { epoch: 1, position: 1, sequence: 1, atMs: 1 };
    const found = { host, providerUuid: uuid(), unclaimed, missing: [uuid()], present: [], serviceHost: host, ...at };
    return { type: hostDiscrepancyCodec.type, body: hostDiscrepancyCodec.encode(found) };
  }
  if (random.next() < 0.5) {
    const body = terminateInstanceCodec.encode({ instanceUuid, projectId: LONG });
    return { type: terminateInstanceCodec.type, body };
  }
  const requestSpec = anEncodedSpec({ projectId: LONG, resources: { CUSTOM_NOT_THERE: 1 } });
  const request = { requestId: uuid(), requestSpec, count: 2, name: 'x', instanceUuids: [] };
  return { type: buildRequestCodec.type, body: buildRequestCodec.encode(request) };
}

function mutated(body: Uint8Array): Buffer {
  const bytes = Buffer.from(body);
  for (let n = randomInt(random, 4); n >= 0; n--)
    if (bytes.length > 0) bytes[randomInt(random, bytes.length)] = randomInt(random, 256);
  return random.next() < 0.3 ? bytes.subarray(0, randomInt(random, bytes.length + 1)) : bytes;
}

/** Every kind of malformed message, once. */
function rubbish(queue: string): readonly (readonly [body: Buffer, properties: Options.Publish])[] {
  const { type, body } = valid(queue);
  const inFrame = (count: number, id: string, of = type) =>
    Array.from({ length: count }, () => framedMessage({ type: of, messageId: id }, mutated(body)));
  const frame = (messages: Parameters<typeof frameCodec.encode>[0]) => Buffer.from(frameCodec.encode(messages));
  return [
    [mutated(body), { type, messageId: uuid() }],
    [Buffer.from(body), { type, replyTo: 'nobody.listens', correlationId: LONG }],
    [Buffer.from(body), { type, replyTo: queue }],
    [mutated(body), { type: LONG, messageId: LONG, appId: LONG }],
    [Buffer.alloc(0), { type }],
    [Buffer.alloc(0), {}],
    [
      mutated(body),
      {
        type: 'é'.repeat(127),
        headers: { 'berth-deliveries': 'many', 'x-delivery-count': 'x', 'berth-user': 'nobody.x' },
      },
    ],
    [frame(inFrame(5, uuid())), { type: frameCodec.type }],
    [mutated(frame(inFrame(5, uuid()))), { type: frameCodec.type }],
    [frame(inFrame(3, 'i'.repeat(300))), { type: frameCodec.type, expiration: 60_000 }],
    [frame(inFrame(3, uuid(), 't'.repeat(70_000))), { type: frameCodec.type }],
    [frame([]), { type: frameCodec.type }],
  ];
}

function depths(): Promise<string[]> {
  return Promise.all([BUILD_REQUESTS, BUILD_RESULTS].map(({ name }) => broker.eval(queueInfo(name, 'messages'))));
}

it('comes to an end with each, holds none for good, and goes on', async () => {
  const channel = await connection.createConfirmChannel();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name } of [BUILD_REQUESTS, BUILD_RESULTS]) {
      for (const [body, properties] of rubbish(name))
        channel.sendToQueue(name, body, { ...properties, persistent: true });
    }
  }
  await channel.waitForConfirms();
  const empty = ['0', '0'];
  const untilMs = clock.now() + 120_000;
  let found: string[] = [];
  while (clock.now() < untilMs) {
    found = await depths();
    if (found.join() === empty.join()) break;
    await sleep(clock, 500);
  }
  const conductor = children[1];
  const tail = conductor
    ?.stdout()
    .split('\n')
    .filter((line) => !/message_refused|dead_lettered/.test(line))
    .slice(-20);
  expect({ found, tail: found.join() === empty.join() ? [] : tail }).toEqual({ found: empty, tail: [] });
  expect(conductor?.process.exitCode).toBeNull();
});
