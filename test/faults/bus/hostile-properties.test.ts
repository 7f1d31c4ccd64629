import { randomUUID } from 'node:crypto';
import { connect, type Options } from 'amqplib';
import { buildReportCodec } from '#libs/contracts/compute';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { sleep } from '#libs/domain/clock';
import { LINES_PER_SENDER } from '#libs/runtime/sender-log';
import { systemClock } from '#libs/runtime/system';
import { queueInfo } from '../fleet/broker-control';
import { printFigure } from '../fleet/figures';
import { AttackedCell, SERVICES } from './attacked-cell';

/* A tenant and an agent send properties and headers of every form, on what they may send and on what they may not: each message is settled
   once, nobody's connection is lost, and the log stays short. */

const TENANT = 'project.mallory';
const AGENT = 'agent.host-2';
/** Characters that become bytes which are no text on their way, as amqplib sends texts only. */
const NO_TEXT = 'Z'.repeat(255);
const clock = systemClock();

let cell: AttackedCell;
beforeAll(async () => {
  cell = await AttackedCell.start([TENANT, AGENT]);
});
afterAll(() => cell?.stop());

function nested(levels: number): object {
  let table: object = {};
  for (let n = 0; n < levels; n++) table = { x: table };
  return table;
}

/** Values of every type that amqplib can encode. */
const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  Number.MAX_SAFE_INTEGER,
  'x',
  '',
  'h'.repeat(10_000),
  Buffer.alloc(100, 0xff),
  [],
  [1, 'x', [null]],
  {},
  nested(100),
  { '!': 'timestamp', value: Number.MAX_SAFE_INTEGER },
  { '!': 'decimal', value: { digits: 5, places: 255 } },
  { '!': 'double', value: Number.NaN },
  { '!': 'double', value: Number.NEGATIVE_INFINITY },
];
/** Headers that Berth or the broker reads. */
const READ = ['berth-deliveries', 'berth-postponed', 'berth-user', 'berth-error', 'berth-queue', 'traceparent'];
const NAMES = ['x-delivery-count', 'x-first-death-reason', 'x-first-death-queue', '', 'toString', 'n'.repeat(255)];

/** Properties, as their sender likes them. */
const PROPERTIES: readonly Options.Publish[] = [
  ...VALUES.flatMap((value) => [...READ, ...NAMES].map((name) => ({ headers: { [name]: value } }))),
  { headers: JSON.parse('{"__proto__": {"type": "x"}, "constructor": 1, "hasOwnProperty": "y"}') },
  { headers: Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`header-${n}`, n])) },
  { messageId: NO_TEXT },
  { correlationId: NO_TEXT },
  { appId: NO_TEXT },
  { type: NO_TEXT },
  { messageId: '\u0000', correlationId: '\u0000', appId: '\u0000\r\n"level":"fatal"' },
  { contentType: NO_TEXT, contentEncoding: 'gzip' },
  { priority: 255, timestamp: Number.MAX_SAFE_INTEGER },
  { expiration: '0' },
  { replyTo: 'build.requests' },
  { replyTo: NO_TEXT },
  { replyTo: '' },
  { correlationId: '' },
];

/** By user: its entrance, and what it sends to each queue. */
const SENT: Readonly<Record<string, readonly [exchange: string, sent: readonly (readonly [string, string])[]]>> = {
  [TENANT]: [
    'berth.requests',
    [
      ['rpc.scheduler', 'berth.scheduler.v1.ExplainRequest'],
      ['rpc.scheduler', 'berth.scheduler.v1.ClaimMovesRequest'],
      ['rpc.conductor', 'berth.conductor.v1.ListInstancesRequest'],
      ['build.requests', buildRequestCodec.type],
      ['build.requests', 'berth.internal.v1.Frame'],
    ],
  ],
  [AGENT]: [
    'berth.reports',
    [
      ['stats', 'berth.scheduler.v1.UpdateResourceStatsRequest'],
      ['stats', 'berth.internal.v1.Frame'],
      ['host.leases', 'berth.scheduler.v1.AcquireHostsRequest'],
      ['build.results', buildReportCodec.type],
      ['build.results', 'x.Y'],
    ],
  ],
};

/** A connection of a user, which the broker ends for what it can't decode itself. */
async function connected(user: string) {
  const connection = await connect(cell.urlOf(user));
  const ended = new Promise<false>((resolve) => connection.on('close', () => resolve(false)).on('error', () => {}));
  const { stream } = (connection as unknown as { connection: { stream: { write: (chunk: Buffer) => boolean } } })
    .connection;
  const write = stream.write.bind(stream);
  stream.write = (chunk) => {
    for (let at = chunk.indexOf(NO_TEXT); at >= 0; at = chunk.indexOf(NO_TEXT)) chunk.fill(0xff, at, at + 255);
    return write(chunk);
  };
  const channel = await connection.createConfirmChannel();
  channel.on('error', () => {});
  const { queue: replyTo } = await channel.assertQueue(`private.${user}.${randomUUID()}`, { exclusive: true });
  const close = () => connection.close().catch(() => {});
  return { channel, replyTo, ended, close };
}

/** Sends messages with some properties; resolves to whether the broker took them. */
async function send(
  { channel, replyTo, ended }: Awaited<ReturnType<typeof connected>>,
  user: string,
  properties: Options.Publish,
): Promise<boolean> {
  const [exchange, sent] = SENT[user] ?? ['', []];
  try {
    for (const [queue, type] of sent) {
      const usual = { type, replyTo, correlationId: randomUUID(), messageId: randomUUID(), userId: user };
      channel.publish(exchange, `${queue}.${user}`, Buffer.of(1), { ...usual, ...properties });
    }
    return await Promise.race([ended, channel.waitForConfirms().then(() => true)]);
  } catch {
    return false;
  }
}

const unsettled = (queue: string) => cell.broker.eval(queueInfo(queue, 'messages', cell.credentials.virtualHost));

it.each(Object.entries(SENT))('are all settled once from %s, and leave others alone', async (user, [, sent]) => {
  const before = new Map(SERVICES.map((name) => [name, cell.child(name).stdout().length]));
  const startedMs = clock.elapsed();
  let [sender, takenCount] = [await connected(user), 0];
  for (const properties of PROPERTIES) {
    if (await send(sender, user, properties)) takenCount++;
    else {
      void sender.close();
      sender = await connected(user);
    }
  }
  expect(takenCount).toBeGreaterThan(PROPERTIES.length / 2);
  expect(await cell.buildForAnother()).toBe('active');
  const queues = [...new Set(sent.map(([queue]) => queue))];
  const depths = () => Promise.all(queues.map(unsettled));
  for (const untilMs = clock.now() + 30_000; clock.now() < untilMs; await sleep(clock, 200))
    if ((await depths()).every((depth) => depth === '0')) break;
  expect(await depths()).toEqual(queues.map(() => '0'));
  for (const name of SERVICES) {
    const child = cell.child(name);
    expect(child.process.exitCode).toBeNull();
    const lines = child.stdout().slice(before.get(name)).split('\n');
    const events = new Map<string, number>();
    for (const line of lines.filter((one) => /"level":"(warn|error|fatal)"/.test(one))) {
      const event = /"event":"([^"]*)"/.exec(line)?.[1] ?? line;
      events.set(event, (events.get(event) ?? 0) + 1);
    }
    expect([...events].filter(([, count]) => count > 4 * LINES_PER_SENDER)).toEqual([]);
    expect([...events.keys()].filter((event) => /disconnected|threw|channel_closed|fatal/.test(event))).toEqual([]);
  }
  printFigure(`properties of every form from ${user}`, { settled: clock.elapsed() - startedMs });
  await sender.close();
});
