import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACK } from '#libs/bus/port';
import { answer } from '#libs/bus/typed-calls';
import { type ListInstancesResponse, listInstancesMethod } from '#libs/contracts/instance';
import { operatorActionCodec } from '#libs/contracts/operator-action';
import { BUILD_REQUESTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import { requestSpec } from '#libs/domain/request-spec';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { systemClock } from '#libs/runtime/system';
import { anInstance } from '#libs/testing/instances/instance';
import { aReport, mustReport } from '#libs/testing/placement/placement';
import { type InstancesPage, MAX_BULK } from './api/instances';
import { Browse } from './testing/browse';
import { openWorld, type World } from './testing/world';

/* Instances that were there before the console started: it saw no event of them. */
const HOUR_MS = 3_600_000;
const clock = systemClock();
const fault = new BerthError('failed_precondition', 'hosts_exhausted', 'none left');
const spec = requestSpecCodec.encode(
  requestSpec(
    {},
    { projectId: 'shop', userId: 'ann', flavor: { name: 'm1.small', version: 1 }, availabilityZone: 'east' },
  ),
);
const about = { requestSpec: spec, projectId: 'shop', updatedAtMs: clock.now() };
const failed = Array.from({ length: 27 }, (_, n) =>
  anInstance({ ...about, name: `bad-${n}`, state: 'error', fault, updatedAtMs: clock.now() - 2 * HOUR_MS }),
);
const active = anInstance({ ...about, requestSpec: new Uint8Array(), state: 'active', host: 'host-1' });
const waiting = anInstance({ ...about, projectId: 'search', state: 'pending', dueAtMs: 1 });
const deleted = anInstance({ ...about, state: 'deleted' });
const TOKENS = [
  { token: 'token-of-the-admin', user_id: 'ann', project_id: 'ops', roles: ['admin'] },
  { token: 'token-of-the-reader', user_id: 'rob', project_id: 'ops', roles: ['reader'] },
];

let folder: string;
let world: World;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
  writeFileSync(join(folder, 'tokens.json'), JSON.stringify(TOKENS));
  const instances = memoryInstanceStore(clock);
  for (const one of [...failed, active, waiting, deleted]) await instances.create(one.requestId, [one]);
  // Before the console opens: its first page has the host then.
  const placement = new MemoryPlacementStore();
  await mustReport(placement, aReport());
  world = await openWorld(
    { BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: join(folder, 'tokens.json') },
    placement,
    instances,
  );
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

async function browseAs(token: string) {
  const browse = new Browse(world.url);
  const csrf = await browse.signIn(token);
  return {
    browse,
    post: (body: object) => browse.ask('POST', '/api/instances/actions', body, { 'x-csrf-token': csrf }),
  };
}

async function look(query: string): Promise<InstancesPage> {
  const { browse } = await browseAs('token-of-the-reader');
  const stream = await browse.listen(`/api/stream?page=instances&${query}`);
  const page = await stream.until<InstancesPage>('page');
  stream.close();
  return page;
}

it("counts what the store has, though it failed before the console's time", async () => {
  const { states, matched, instances } = await look('state=error');
  expect(states).toEqual([
    { name: 'pending', count: 1 },
    { name: 'active', count: 1 },
    { name: 'error', count: 27 },
    { name: 'deleted', count: 1 },
  ]);
  expect([matched, instances.length, instances[0]?.reason]).toEqual([27, 27, 'hosts_exhausted: none left']);
});

it.each([
  ['', 29],
  ['state=active,pending', 2],
  ['state=ERROR', 27],
  ['state=deleted', 1],
  ['project=search', 1],
  ['host=host-1', 1],
  ['zone=nova', 1],
  ['zone=east', 28],
  ['flavor=m1.small', 28],
  ['flavor=m1.small&project=search', 1],
  ['since=1h', 2],
  ['since=3h', 29],
  ['reason=hosts_exhausted', 27],
  ['reason=quota', 0],
  ['tried=1', 0],
  ['name=BAD-1', 11],
  [`name=${active.uuid.slice(0, 18)}`, 1],
])('finds by %s', async (query, expected) => {
  expect((await look(query)).matched).toBe(expected);
});

it.each(['state=gone', 'since=soon', 'since=5y', 'tried=-1'])('refuses the filter %s', async (query) => {
  const { browse } = await browseAs('token-of-the-reader');
  const found = await browse.ask('GET', `/api/stream?page=instances&${query}`);
  expect(found).toMatchObject({ status: 400, body: { reason: 'bad_query' } });
});

describe('an action on several instances', () => {
  const [first, second] = failed.map(({ uuid }) => uuid);
  const told: [target: string, userId: string, reason: string | undefined][] = [];
  const terminated: string[] = [];

  beforeAll(async () => {
    await world.bus.subscribe('operator.#', (_topic, { body }) => {
      const { target, userId, error } = operatorActionCodec.decode(body);
      told.push([target, userId, error?.reason]);
    });
    await world.bus.consume(BUILD_REQUESTS, async ({ type }) => {
      terminated.push(type);
      return ACK;
    });
    // A conductor that knows the first alone.
    await world.bus.serve(
      RPC_CONDUCTOR,
      answer(listInstancesMethod, async ({ instanceUuid }): Promise<ListInstancesResponse> => {
        if (instanceUuid !== first) return { instances: [] };
        const { uuid, requestId, name, projectId, userId, createdAtMs, updatedAtMs } = failed[0] ?? active;
        const decoded = requestSpecCodec.decode(spec);
        const rest = { attempts: [], fault: undefined, requestSpec: decoded, version: 1, minCount: 0, gangSize: 0 };
        const times = { createdAtMs, updatedAtMs, endsAtMs: 0 };
        const state = 'error' as const;
        return { instances: [{ uuid, requestId, name, projectId, userId, state, host: '', ...rest, ...times }] };
      }),
    );
  });
  beforeEach(() => {
    told.length = 0;
  });

  it('is done to each by itself, and the log names each', async () => {
    const { post } = await browseAs('token-of-the-admin');
    const answered = await post({ action: 'terminate', uuids: `${first},${second}` });
    expect(answered).toMatchObject({
      status: 200,
      body: { done: 1, refused: [{ uuid: second, reason: 'no_such_instance' }] },
    });
    for (let i = 0; i < 100 && (told.length < 2 || terminated.length < 1); i++) await tick();
    expect(new Map(told.map(([target, ...rest]) => [target, rest]))).toEqual(
      new Map([
        [first, ['ann', undefined]],
        [second, ['ann', 'no_such_instance']],
      ]),
    );
    expect(terminated).toEqual(['berth.conductor.v1.TerminateInstance']);
  });

  it('is refused once to who may only look', async () => {
    const { post } = await browseAs('token-of-the-reader');
    expect(await post({ action: 'terminate', uuids: `${first},${second}` })).toMatchObject({ status: 403 });
    for (let i = 0; i < 100 && told.length < 1; i++) await tick();
    expect(told).toEqual([['2 instances', 'rob', 'read_only']]);
  });

  it.each([
    [{ action: 'terminate', uuids: '' }, 'bad_uuids'],
    [{ action: 'terminate', uuids: 'all' }, 'bad_uuids'],
    [{ action: 'terminate', uuids: Array.from({ length: MAX_BULK + 1 }, (_, n) => uuidOf(n)).join() }, 'bad_uuids'],
    [{ action: 'resize', uuids: uuidOf(1) }, 'bad_action'],
    [{ action: 'constructor', uuids: uuidOf(1) }, 'bad_action'],
  ])('is refused as malformed: %#', async (body, reason) => {
    const { post } = await browseAs('token-of-the-admin');
    expect(await post(body)).toMatchObject({ status: 400, body: { reason } });
  });

  it('needs the CSRF token', async () => {
    const { browse } = await browseAs('token-of-the-admin');
    const body = { action: 'terminate', uuids: uuidOf(1) };
    expect(await browse.ask('POST', '/api/instances/actions', body)).toMatchObject({ status: 403 });
  });
});

function uuidOf(n: number): string {
  return `a0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    clock.after(10, resolve);
  });
}
