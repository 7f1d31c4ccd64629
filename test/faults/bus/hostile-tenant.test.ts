import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ConfirmChannel, connect, type Message, type Options } from 'amqplib';
import { buildRefusedCodec, buildRequestCodec } from '#libs/contracts/conductor';
import { decodeError, ERROR_TYPE } from '#libs/contracts/error';
import { LINES_PER_SENDER } from '#libs/runtime/sender-log';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { urlIn } from '#libs/testing/servers/child';
import { AttackedCell, SERVICES } from './attacked-cell';

/* A tenant sends what its broker user may send, and means harm: no process ends, or comes near its limit of memory, and others' builds go on. */

const MIB = 1_048_576;
const COPIES = 20;
const TENANT = 'project.mallory';
/** Half of the limit of `deploy/kubernetes`. */
const MAX_RSS_BYTES = 512 * MIB;

let cell: AttackedCell;
beforeAll(async () => {
  cell = await AttackedCell.start([TENANT], { max_message_size: String(4 * MIB) });
});
afterAll(() => cell?.stop());

/** Events of log lines about messages that are refused. */
const REFUSALS: readonly string[] = [
  'bus_call_refused',
  'bus_message_refused',
  'bus_message_dead_lettered',
  'message_refused',
  'host_report_refused',
];

/** The sum of a counter's series, of all services. */
async function counted(metric: string): Promise<number> {
  const texts = SERVICES.map(async (name) => {
    return (await fetch(`${urlIn(cell.child(name))}/metrics`)).text();
  });
  const lines = (await Promise.all(texts)).flatMap((text) => text.split('\n'));
  return lines.filter((line) => line.startsWith(metric)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Bytes of a process's output so far. */
const said = (name: string) => cell.child(name).stdout().length;

/** The most memory that a process has had. */
function peakBytes(name: string): number {
  const status = readFileSync(`/proc/${cell.child(name).process.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1_024;
}

interface Attack {
  readonly queue: 'rpc.scheduler' | 'rpc.conductor' | 'build.requests';
  readonly body: Buffer;
  readonly properties: Options.Publish;
}

/** Empty embedded messages: two bytes each, a hundred as an object. */
const emptyParts = (field: number, bytes: number) => Buffer.alloc(bytes, Buffer.from([(field << 3) | 2, 0]));
const claims = 'berth.scheduler.v1.ClaimMovesRequest';
const build = buildRequestCodec.type;

const ATTACKS: readonly (readonly [string, Attack])[] = [
  [
    'empty parts as what services send',
    { queue: 'rpc.scheduler', body: emptyParts(1, 4 * MIB), properties: { type: claims } },
  ],
  ['empty parts without a type', { queue: 'rpc.scheduler', body: emptyParts(1, 4 * MIB), properties: {} }],
  [
    'empty parts of an unknown type',
    { queue: 'rpc.conductor', body: emptyParts(1, 4 * MIB), properties: { type: 'x.Y' } },
  ],
  [
    'empty parts as a request without a type',
    { queue: 'build.requests', body: emptyParts(2, 4 * MIB), properties: {} },
  ],
  [
    'a request of an unknown type',
    { queue: 'build.requests', body: emptyParts(2, 4 * MIB), properties: { type: 'x.Y' } },
  ],
  [
    'a frame of 4 MiB',
    { queue: 'build.requests', body: emptyParts(1, 4 * MIB), properties: { type: 'berth.internal.v1.Frame' } },
  ],
  [
    "an agent's report",
    {
      queue: 'rpc.scheduler',
      body: emptyParts(1, 4 * MIB),
      properties: { type: 'berth.scheduler.v1.UpdateResourceStatsRequest' },
    },
  ],
  ['a build with destinations', { queue: 'build.requests', body: emptyParts(9, 200_000), properties: { type: build } }],
  [
    'forged counts of deliveries',
    {
      queue: 'rpc.scheduler',
      body: emptyParts(1, 1_000),
      properties: {
        type: claims,
        priority: 9,
        headers: {
          'x-delivery-count': -1_000,
          'berth-deliveries': { '!': 'double', value: Number.NaN },
          'berth-user': 'operator',
        },
      },
    },
  ],
  [
    'copies for the queues of others',
    {
      queue: 'rpc.scheduler',
      body: emptyParts(1, 1_000),
      properties: {
        type: claims,
        headers: { CC: ['build.requests.project.demo', 'build.requests.project.demo.project.mallory'] },
      },
    },
  ],
  [
    'a forged death',
    { queue: 'rpc.scheduler', body: emptyParts(1, 1_000), properties: { type: claims, headers: { 'x-death': 'x' } } },
  ],
  [
    'a trace that leaves no room for the reason of a dead letter',
    { queue: 'build.requests', body: Buffer.alloc(0), properties: { headers: { traceparent: 'h'.repeat(65_000) } } },
  ],
  [
    'headers as large as a frame',
    { queue: 'rpc.scheduler', body: Buffer.alloc(0), properties: { type: claims, headers: { x: 'h'.repeat(60_000) } } },
  ],
];

/** Sends twenty copies, each of which the broker has or has refused, as it may by ending the connection. */
async function attack({ queue, body, properties }: Attack): Promise<void> {
  const connection = await connect(cell.urlOf(TENANT));
  const ended = new Promise<void>((resolve) => connection.on('close', () => resolve()).on('error', () => {}));
  const channel = await connection.createConfirmChannel();
  channel.on('error', () => void connection.close().catch(() => {}));
  const replyTo = `private.${TENANT}.${randomUUID()}`;
  for (let n = 0; n < COPIES; n++) publish(channel, queue, body, { replyTo, correlationId: String(n), ...properties });
  const confirmed = channel.waitForConfirms().then(() => connection.close());
  await Promise.race([ended, confirmed.catch(() => {})]);
}

function publish(channel: ConfirmChannel, queue: string, body: Buffer, properties: Options.Publish): void {
  channel.publish('berth.requests', `${queue}.${TENANT}`, body, { userId: TENANT, ...properties }, () => {});
}

it.each(ATTACKS)('holds against %s, twenty at once', async (_, one) => {
  await attack(one);
  expect(await cell.buildForAnother()).toBe('active');
  for (const name of SERVICES) {
    expect(cell.child(name).process.exitCode).toBeNull();
    expect(peakBytes(name)).toBeLessThan(MAX_RSS_BYTES);
  }
});

it('holds against headers that are nested deeper than a stack', async () => {
  const before = SERVICES.map(said);
  await attackWithNestedHeader('rpc.scheduler');
  await attackWithNestedHeader('build.requests');
  expect(await cell.buildForAnother()).toBe('active');
  for (const [n, name] of SERVICES.entries())
    expect(cell.child(name).stdout().slice(before[n])).not.toContain('bus_disconnected');
});

/** Messages that are refused, by user: the entrance, and what it sends there. */
const REFUSED: Readonly<Record<string, readonly [exchange: string, queues: readonly string[], type: string]>> = {
  [TENANT]: ['berth.requests', ['rpc.scheduler', 'rpc.conductor', 'build.requests'], claims],
  'agent.host-1': ['berth.reports', ['stats', 'build.results'], claims],
};
const FLOOD = 2_000;

it.each(Object.entries(REFUSED))('writes few lines of what is refused of a flood of %s', async (user, facts) => {
  const before = new Map(SERVICES.map((name) => [name, said(name)]));
  const [exchange, queues, type] = facts;
  const connection = await connect(cell.urlOf(user));
  const channel = await connection.createConfirmChannel();
  const { queue: replyTo } = await channel.assertQueue(`private.${user}.${randomUUID()}`, { exclusive: true });
  for (let n = 0; n < FLOOD; n++) {
    for (const queue of queues) {
      const properties = { type, replyTo, correlationId: String(n), messageId: `${n}`, userId: user };
      channel.publish(exchange, `${queue}.${user}`, Buffer.of(1), properties);
    }
  }
  await channel.waitForConfirms();
  expect(await cell.buildForAnother()).toBe('active');
  for (const name of SERVICES) {
    const lines = cell.child(name).stdout().slice(before.get(name)).split('\n');
    for (const event of REFUSALS) {
      const its = lines.filter((line) => line.includes(`"event":"${event}"`));
      expect([event, its.length <= 2 * LINES_PER_SENDER]).toEqual([event, true]);
    }
  }
  const [refused, dead] = ['berth_bus_refused_total', 'berth_bus_dead_letters_total'];
  expect((await counted(refused)) + (await counted(dead))).toBeGreaterThanOrEqual(FLOOD);
  await connection.close();
});

it('lets a tenant reach no answer of another, nor be taken for one who answers', async () => {
  const connection = await connect(cell.urlOf(TENANT));
  const channel = await connection.createConfirmChannel();
  const { queue: replyTo } = await channel.assertQueue(`private.${TENANT}.${randomUUID()}`, { exclusive: true });
  const answers: Message[] = [];
  await channel.consume(replyTo, (message) => message && answers.push(message), { noAck: true });
  const headers = { 'berth-user': 'operator', 'x-delivery-count': -1_000, CC: ['build.requests.project.demo'] };
  const properties = { replyTo, appId: 'operator', headers, expiration: '4294967295', correlationId: 'own' };
  publish(channel, 'rpc.scheduler', Buffer.alloc(0), { ...properties, type: claims });
  const spec = anEncodedSpec({ projectId: 'demo' });
  const stolen = { requestId: randomUUID(), requestSpec: spec, count: 1, name: '', instanceUuids: [] };
  publish(channel, 'build.requests', Buffer.from(buildRequestCodec.encode(stolen)), { ...properties, type: build });
  await channel.waitForConfirms();
  // The copy of the call for the queue of requests is its sender's, too.
  while (answers.length < 3) expect(await cell.buildForAnother()).toBe('active');
  const reasons = answers.map(({ properties: { type }, content }) =>
    type === ERROR_TYPE ? decodeError(content).reason : buildRefusedCodec.decode(content).error.reason,
  );
  expect(reasons.toSorted()).toEqual(['services_only', 'services_only', 'wrong_project']);
  await connection.close();
});

/** Arrays in arrays: amqplib would not encode them, so they go as bytes whose tag is changed on their way. */
async function attackWithNestedHeader(queue: string): Promise<void> {
  const connection = await connect(cell.urlOf(TENANT));
  const { stream } = (connection as unknown as { connection: { stream: { write: (chunk: Buffer) => boolean } } })
    .connection;
  const write = stream.write.bind(stream);
  stream.write = (chunk) => {
    const at = chunk.indexOf('nestedx');
    if (at >= 0) chunk.write('A', at + 6);
    return write(chunk);
  };
  const channel = await connection.createConfirmChannel();
  const levels = 12_000;
  const nested = Buffer.alloc(levels * 5);
  for (let at = 0; at < nested.length; at += 5) {
    nested.write('A', at);
    nested.writeUInt32BE(nested.length - at - 5, at + 1);
  }
  publish(channel, queue, Buffer.alloc(0), { type: claims, headers: { nested } });
  await channel.waitForConfirms();
  await connection.close();
}
