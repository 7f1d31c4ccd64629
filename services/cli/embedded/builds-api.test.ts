import { request } from 'node:http';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { BUILD_ROUTES } from '../../placement-api/builds/routes';
import { eventSchema } from '../../placement-api/builds/views';
import { whyInvalid } from '../../placement-api/http/validate';
import { type EmbeddedFleet, startEmbedded } from './fleet';

/* The API to build, on all of Berth in this process. */

interface Instance {
  readonly uuid: string;
  readonly state: string;
  readonly host: string | null;
  readonly fault: { readonly reason: string; readonly message: string } | null;
}

interface Held {
  readonly days: readonly {
    readonly unit_seconds: Record<string, number>;
    readonly unit_hours: Record<string, number>;
  }[];
}

let fleet: EmbeddedFleet;
let url: string;

beforeAll(async () => {
  const env = {
    BERTH_PLACEMENT_PORT: '0',
    BERTH_PLACEMENT_MAX_EVENT_STREAMS_PER_PROJECT: '1',
    BERTH_PLACEMENT_MAX_BUILD_CALLS_PER_PROJECT: '2',
    BERTH_SCHEDULER_FAIR_SHARE_HALF_LIFE_MS: '600000',
  };
  const context = { env, clock: systemClock(), random: systemRandom, interrupted: new AbortController().signal };
  const shape = { VCPU: 8, MEMORY_MB: 16_384 };
  const settings = { schedulers: 1, conductors: 1, hosts: 3, failureRate: 0, latencyMs: 10 };
  fleet = await startEmbedded(context, { ...settings, shape });
  url = await fleet.openApi();
}, 60_000);

afterAll(() => fleet.close());

const member = (project: string) => ({ 'x-auth-token': `ann:${project}`, 'x-roles': 'member' });
const admin = { 'x-auth-token': 'root:admin', 'x-roles': 'admin' };

/** Sends a request; what is answered must be as `/openapi.json` has it. */
async function ask(method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const payload = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(url + path, { method, headers: { ...headers, ...type }, ...payload });
  const text = await response.text();
  const answer = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
  const pattern = ({ path: it }: (typeof BUILD_ROUTES)[number]) =>
    new RegExp(`^${it.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  const route = BUILD_ROUTES.find((one) => one.method === method && pattern(one).test(path.split('?')[0] ?? ''));
  const schema = route?.answers[response.status as 200 | 201 | 202];
  const why = response.ok && schema ? whyInvalid(answer, schema) : undefined;
  if (why !== undefined) throw new Error(`${method} ${path} does not answer as /openapi.json says: ${why}`);
  const code = (answer?.['errors'] as { code: string }[] | undefined)?.[0]?.code;
  return { status: response.status, answer, code };
}

const small = { name: 'web', resources: { VCPU: 1, MEMORY_MB: 512 } };

async function build(project: string, body: object = small, headers = {}): Promise<string> {
  const { status, answer } = await ask('POST', '/berth/instances', { ...member(project), ...headers }, body);
  expect([status, answer?.['is_on_record']]).toEqual([202, true]);
  return (answer as { instances: { uuid: string }[] }).instances[0]?.uuid ?? '';
}

async function settled(project: string, uuid: string, states = 'ACTIVE,ERROR'): Promise<Instance> {
  const { answer } = await ask('GET', `/berth/instances/${uuid}?wait_for=${states}`, member(project));
  return answer as unknown as Instance;
}

it('builds, waits, lists, stops, starts and terminates', async () => {
  const uuid = await build('shop');
  expect(await settled('shop', uuid)).toMatchObject({ uuid, state: 'ACTIVE', host: expect.any(String), fault: null });
  const { answer } = await ask('GET', '/berth/instances?state=active', member('shop'));
  expect(answer).toMatchObject({ instances: [{ uuid, project_id: 'shop', user_id: 'ann' }], next_marker: null });
  const act = (action: string) => ask('POST', `/berth/instances/${uuid}/actions`, member('shop'), { action });
  expect((await act('stop')).status).toBe(202);
  expect(await settled('shop', uuid, 'STOPPED')).toMatchObject({ state: 'STOPPED' });
  expect((await act('start')).status).toBe(202);
  expect(await settled('shop', uuid, 'ACTIVE')).toMatchObject({ state: 'ACTIVE' });
  expect((await ask('DELETE', `/berth/instances/${uuid}`, member('shop'))).status).toBe(202);
  expect(await settled('shop', uuid, 'DELETED')).toMatchObject({ state: 'DELETED' });
});

it('builds nothing for a copy of a request, and refuses another one under its key', async () => {
  const headers = { 'idempotency-key': 'order-1' };
  const uuid = await build('copies', small, headers);
  expect(await build('copies', small, headers)).toBe(uuid);
  const { answer } = await ask('GET', '/berth/instances', member('copies'));
  expect(answer?.['instances']).toHaveLength(1);
  const other = await ask('POST', '/berth/instances', { ...member('copies'), ...headers }, { ...small, name: 'db' });
  expect([other.status, other.code]).toEqual([409, 'berth.idempotency_key_reused']);
  expect(await build('another', small, headers)).not.toBe(uuid);
});

it('answers a build that the conductor refuses with its reason', async () => {
  const { status, code } = await ask('POST', '/berth/instances', member('shop'), { flavor: 'no-such' });
  expect([status, code]).toEqual([404, 'berth.no_such_flavor']);
});

it("keeps a tenant to its own project, also where it knows another's uuid", async () => {
  const uuid = await build('victim');
  const thief = member('thief');
  const tries = [
    await ask('GET', `/berth/instances/${uuid}`, thief),
    await ask('DELETE', `/berth/instances/${uuid}`, thief),
    await ask('POST', `/berth/instances/${uuid}/actions`, thief, { action: 'stop' }),
  ];
  expect(tries.map(({ status, code }) => [status, code])).toEqual(tries.map(() => [404, 'berth.no_such_instance']));
  const named = await ask('POST', '/berth/instances', thief, { ...small, project_id: 'victim' });
  expect([named.status, named.code]).toEqual([403, 'berth.wrong_project']);
  expect((await ask('GET', '/berth/instances?project_id=victim', thief)).code).toBe('berth.wrong_project');
  expect((await ask('GET', '/berth/instances', thief)).answer?.['instances']).toEqual([]);
  expect(await settled('victim', uuid)).toMatchObject({ state: 'ACTIVE' });
  expect((await ask('GET', `/berth/instances/${uuid}`, admin)).status).toBe(200);
});

it('refuses too many instances of all kinds before it names them', async () => {
  const kinds = Array.from({ length: 15 }, () => ({ ...small, count: 1_000 }));
  const body = { ...small, min_count: 1, further_members: kinds };
  for (const key of [{}, { 'idempotency-key': 'order-2' }]) {
    const { status, code, answer } = await ask('POST', '/berth/instances', { ...member('shop'), ...key }, body);
    expect([status, code]).toEqual([400, 'berth.too_many']);
    expect(JSON.stringify(answer)).toContain('count may be at most 1000');
  }
});

it.each([
  ['no token', {}, small, 401, undefined],
  ['a reader', { ...member('shop'), 'x-roles': 'reader' }, small, 403, 'berth.role_missing'],
  ['an unknown field', member('shop'), { ...small, nonsense: 1 }, 400, undefined],
  ['nothing to build', member('shop'), { name: 'web' }, 400, 'berth.missing_field'],
  ['too many', member('shop'), { ...small, count: 1_001 }, 400, undefined],
  [
    'a priority that would be another on the wire',
    member('shop'),
    { ...small, admission: { priority: 2 ** 32 + 1 } },
    400,
    undefined,
  ],
  [
    'a gang larger than its request',
    member('shop'),
    { ...small, min_count: 2 },
    400,
    expect.stringMatching(/^berth\./),
  ],
  ['a key of two words', { ...member('shop'), 'idempotency-key': 'a b' }, small, 400, 'berth.bad_idempotency_key'],
  ['a body that is too large', member('shop'), { ...small, name: 'x'.repeat(600_000) }, 413, undefined],
])('refuses %s', async (_, headers, body, status, code) => {
  const refused = await ask('POST', '/berth/instances', headers, body);
  expect(refused).toMatchObject({ status, code: code ?? refused.code });
});

it("tells what a project held in hours, to itself and to operators, as the store's ledger has it", async () => {
  await settled('held', await build('held'));
  const today = new Date(systemClock().now()).toISOString().slice(0, 10);
  const [own, all] = [
    await ask('GET', '/berth/usage', member('held')),
    await ask('GET', `/berth/usage?project_id=held&since=${today}&until=${today}`, admin),
  ];
  for (const { status, answer } of [own, all]) {
    expect(status).toBe(200);
    const { projects } = answer as { projects: readonly Held[] };
    const held = projects[0];
    expect(held).toMatchObject({
      project_id: 'held',
      unit_hours: { VCPU: expect.any(Number), instances: expect.any(Number) },
    });
    const day = held?.days.at(-1);
    const seconds = day?.unit_seconds['VCPU'] ?? 0;
    expect(seconds).toBeGreaterThan(0);
    expect(day?.unit_hours['VCPU']).toBeCloseTo(seconds / 3_600, 9);
  }
  expect((await ask('GET', '/berth/usage?project_id=held', member('thief'))).code).toBe('berth.wrong_project');
  expect((await ask('GET', '/berth/usage?since=2026-02-30', member('held'))).code).toBe('berth.bad_day');
  const shared = await ask('GET', `/berth/usage?by=user,flavor,instance&since=${today}`, member('held'));
  const { shares } = shared.answer as { shares: readonly Held[] };
  expect(shares).toMatchObject([
    { user_id: 'ann', flavor: null, instance_uuid: expect.any(String), unit_hours: { VCPU: expect.any(Number) } },
  ]);
  expect(shared.answer?.['projects']).toEqual([]);
  expect((await ask('GET', '/berth/usage?by=price', member('held'))).status).toBe(400);
  const later = await ask('GET', '/berth/usage?until=2020-01-01', member('held'));
  expect(later.answer?.['projects']).toMatchObject([{ project_id: 'held', unit_hours: {}, days: [] }]);
});

it('keeps groups of a project, by which instances are kept apart', async () => {
  const web = { name: 'web', policy: 'anti-affinity', metadata: { tier: 'front' } };
  const made = await ask('POST', '/berth/groups', member('grouped'), web);
  expect([made.status, made.answer]).toMatchObject([
    201,
    { project_id: 'grouped', name: 'web', policy: 'anti-affinity', max_per_host: 1, spread: null, member_count: 0 },
  ]);
  const other = { ...web, policy: 'affinity' };
  expect((await ask('POST', '/berth/groups', member('grouped'), other)).code).toBe('berth.group_exists');
  const uuids = [];
  for (let n = 0; n < 2; n++) uuids.push(await build('grouped', { ...small, group: { id: 'web' } }));
  const hosts = [];
  for (const uuid of uuids) hosts.push((await settled('grouped', uuid)).host);
  expect(new Set(hosts).size).toBe(2);
  const { answer } = await ask('GET', '/berth/groups/web', member('grouped'));
  expect((answer as { members: string[] }).members.toSorted()).toEqual(uuids.toSorted());
  expect((await ask('GET', '/berth/groups', member('grouped'))).answer).toMatchObject({
    groups: [{ name: 'web', member_count: 2 }],
    next_marker: null,
  });
  // Another project has no such group, and may not name the project.
  expect((await ask('GET', '/berth/groups', member('thief'))).answer).toMatchObject({ groups: [] });
  expect((await ask('GET', '/berth/groups/web', member('thief'))).code).toBe('berth.no_such_group');
  expect((await ask('DELETE', '/berth/groups/web?project_id=grouped', member('thief'))).code).toBe(
    'berth.wrong_project',
  );
  expect((await ask('GET', '/berth/groups?project_id=grouped', admin)).answer).toMatchObject({
    groups: [{ name: 'web' }],
  });
  expect((await ask('GET', '/berth/groups?marker=x', admin)).code).toBe('berth.bad_marker');
  expect((await ask('DELETE', '/berth/groups/web', member('grouped'))).status).toBe(204);
});

it('shows a tenant its quota, which operators set, and refuses by it', async () => {
  const limits = { limits: { VCPU: 1, instances: 5 } };
  expect((await ask('PUT', '/berth/quotas/limited', member('limited'), limits)).code).toBe('berth.operators_only');
  const set = await ask('PUT', '/berth/quotas/limited', admin, limits);
  expect(set.answer).toMatchObject({ project_id: 'limited', limits: { VCPU: 1, instances: 5 }, cohort: null });
  const version = set.answer?.['version'] as number;
  expect((await ask('PUT', '/berth/quotas/limited', admin, { version: version + 1, ...limits })).code).toBe(
    'berth.quota_changed',
  );
  await settled('limited', await build('limited'));
  expect((await settled('limited', await build('limited'))).fault?.reason).toBe('quota_exceeded');
  const own = await ask('GET', '/berth/quotas', member('limited'));
  expect(own.answer).toMatchObject({ quotas: [{ project_id: 'limited', used: { VCPU: 1, instances: 1 } }] });
  expect((await ask('GET', '/berth/quotas?project_id=limited', member('thief'))).code).toBe('berth.wrong_project');
  const less = await ask('DELETE', '/berth/quotas/limited?classes=VCPU', admin);
  expect(less.answer).toMatchObject({ limits: { instances: 5 } });
  expect((await ask('PUT', '/berth/default-quota', admin, { limits: { instances: 1_000 } })).answer).toMatchObject({
    project_id: null,
  });
  expect((await ask('GET', '/berth/quotas', member('limited'))).answer).toMatchObject({
    default_limits: { instances: 1_000 },
  });
  expect((await ask('DELETE', '/berth/default-quota', admin)).status).toBe(200);
});

it("tells a tenant its project's fair share with its parts, and operators those of all", async () => {
  const uuids = [await build('frugal'), await build('lavish', { ...small, resources: { VCPU: 4, MEMORY_MB: 512 } })];
  expect((await settled('frugal', uuids[0] ?? '')).state).toBe('ACTIVE');
  expect((await settled('lavish', uuids[1] ?? '')).state).toBe('ACTIVE');
  const limits = { limits: { weight: 2 } };
  expect((await ask('PUT', '/berth/quotas/lavish', admin, limits)).status).toBe(200);
  interface Share {
    readonly project_id: string;
    readonly number: number;
    readonly now: number;
    readonly lately: number;
    readonly weight: number;
  }
  const sharesOf = async (headers: Record<string, string>, query = '') => {
    const { answer } = await ask('GET', `/berth/fair-shares${query}`, headers);
    expect(answer).toMatchObject({ half_life_ms: 600_000, next_marker: null });
    return (answer as unknown as { readonly shares: readonly Share[] }).shares;
  };
  const [own, ...others] = await sharesOf(member('frugal'));
  expect([own, others]).toMatchObject([{ project_id: 'frugal', now_class: 'VCPU', weight: 1 }, []]);
  expect(own?.now).toBeCloseTo(1 / 24);
  const all = await sharesOf(admin);
  expect(all.map(({ project_id }) => project_id)).toEqual(expect.arrayContaining(['frugal', 'lavish']));
  const [lavish] = await sharesOf(admin, '?project_id=lavish');
  expect(lavish?.weight).toBe(2);
  for (const { number, now, lately, weight } of all) expect(number).toBeCloseTo((now + lately) / weight);
  expect((await ask('GET', '/berth/fair-shares?project_id=lavish', member('frugal'))).code).toBe('berth.wrong_project');
});

it('sets, shows and ends guarantees for operators, and tells no tenant of them', async () => {
  const path = '/berth/guarantees/any-host';
  expect((await ask('PUT', path, member('curious'), { lose: 'host' })).code).toBe('berth.operators_only');
  expect((await ask('GET', '/berth/guarantees', member('curious'))).code).toBe('berth.operators_only');
  expect((await ask('PUT', path, admin, { lose: 'host', count: 5 })).status).toBe(400);
  expect((await ask('PUT', path, admin, { lose: 'host', policy: 'flag' })).answer).toMatchObject({
    name: 'any-host',
    lose: 'host',
    count: 1,
    aggregate: null,
    policy: 'flag',
    broken: [],
  });
  const shown = await ask('GET', '/berth/guarantees?name=any-host', admin);
  expect(shown.answer).toMatchObject({ guarantees: [{ name: 'any-host' }], headroom: null });
  expect((await ask('GET', '/berth/guarantees?name=none', admin)).code).toBe('berth.no_such_guarantee');
  expect((await ask('GET', '/berth/guarantees?flavor=none', admin)).code).toBe('berth.no_such_flavor');
  expect((await ask('DELETE', path, admin)).status).toBe(204);
  expect((await ask('DELETE', path, admin)).code).toBe('berth.no_such_guarantee');
});

it('creates, shows and ends reservations for operators, and tells no tenant of them', async () => {
  const path = '/berth/reservations/night';
  const fromMs = systemClock().now() + 3_600_000;
  const night = { project_id: 'science', from_ms: fromMs, until_ms: fromMs + 60_000, resources: { VCPU: 1 } };
  expect((await ask('PUT', path, member('curious'), night)).code).toBe('berth.operators_only');
  expect((await ask('GET', '/berth/reservations', member('curious'))).code).toBe('berth.operators_only');
  expect((await ask('PUT', path, admin, { ...night, until_ms: fromMs })).code).toBe('berth.bad_window');
  expect((await ask('PUT', path, admin, { ...night, resources: { VCPU: 1_000 } })).code).toBe(
    'berth.no_room_to_reserve',
  );
  expect((await ask('PUT', path, admin, { ...night, count: 2 })).answer).toMatchObject({
    name: 'night',
    project_id: 'science',
    count: 2,
    resources: { VCPU: 1 },
    state: 'held',
    reason: '',
  });
  expect((await ask('PUT', path, admin, night)).code).toBe('berth.reservation_exists');
  const shown = await ask('GET', '/berth/reservations?name=night', admin);
  expect(shown.answer).toMatchObject({ reservations: [{ name: 'night', from_ms: fromMs }] });
  expect((await ask('GET', '/berth/reservations?name=none', admin)).code).toBe('berth.no_such_reservation');
  expect((await ask('DELETE', path, admin)).status).toBe(204);
  expect((await ask('DELETE', path, admin)).code).toBe('berth.no_such_reservation');
});

it('explains a request and a past decision, to its project alone', async () => {
  const asked = await ask('POST', '/berth/explain', member('curious'), { resources: { VCPU: 64 } });
  expect(asked.answer).toMatchObject({
    diagnosis: {
      hosts_considered: 3,
      hosts_passed: 0,
      filters: [{ filter: 'capacity', reasons: { capacity_vcpu: 3 } }],
    },
    victims: [],
  });
  const one = await ask('POST', '/berth/explain', member('curious'), { resources: { VCPU: 1 }, limit: 1 });
  expect(one.answer).toMatchObject({ hosts: [{ passed: true, refusals: [] }] });
  const uuid = await build('curious');
  const { host } = await settled('curious', uuid);
  let decision = await ask('GET', `/berth/explain/${uuid}`, member('curious'));
  while (decision.status === 404) decision = await ask('GET', `/berth/explain/${uuid}`, member('curious'));
  expect(decision.answer).toMatchObject({ selected: { [uuid]: host }, unconfirmed: [] });
  expect((await ask('GET', `/berth/explain/${uuid}`, member('thief'))).code).toBe('berth.no_such_decision');
  expect(
    (await ask('POST', '/berth/explain', member('thief'), { project_id: 'curious', resources: { VCPU: 1 } })).code,
  ).toBe('berth.wrong_project');
});

it('leaves moves to operators', async () => {
  const uuid = await build('moves');
  await settled('moves', uuid);
  const move = { action: 'migrate' };
  const refused = await ask('POST', `/berth/instances/${uuid}/actions`, member('moves'), move);
  expect([refused.status, refused.code]).toEqual([403, 'berth.operators_only']);
  expect((await ask('POST', `/berth/instances/${uuid}/actions`, admin, move)).status).toBe(202);
  expect(await settled('moves', uuid, 'VERIFY_RESIZE')).toMatchObject({ state: 'VERIFY_RESIZE' });
});

it('streams the events of a project, of which only one stream may be open', async () => {
  const stream = listen(member('streams'));
  await stream.opened;
  const second = await ask('GET', '/berth/events', member('streams'));
  expect([second.status, second.code]).toEqual([429, 'berth.too_many_at_once']);
  await build('elsewhere');
  const uuid = await build('streams');
  const event = await stream.first((one) => one['state'] === 'ACTIVE');
  expect(event).toMatchObject({ instance_uuid: uuid, project_id: 'streams' });
  expect(whyInvalid(event, eventSchema)).toBeUndefined();
  expect(stream.heard.filter((one) => one['project_id'] !== 'streams')).toEqual([]);
  stream.close();
});

it('says first that nothing is sent again to who listens again', async () => {
  const stream = listen({ ...member('again'), 'last-event-id': 'a3d0f2f1-5d11-4fc8-9f6e-8a1b5f3b2c11/3' });
  await stream.opened;
  await build('again');
  await stream.first((one) => one['state'] === 'ACTIVE');
  expect(stream.heard[0]).toMatchObject({ message: expect.stringContaining('list instances') });
  stream.close();
});

it('bounds what one project asks at once, and answers others', async () => {
  const uuid = await build('greedy');
  const waits = [1, 2].map(() =>
    ask('GET', `/berth/instances/${uuid}?wait_for=DELETED&timeout_ms=60000`, member('greedy')),
  );
  let third = await ask('GET', '/berth/instances', member('greedy'));
  while (third.status === 200) third = await ask('GET', '/berth/instances', member('greedy'));
  expect([third.status, third.code]).toEqual([429, 'berth.too_many_at_once']);
  expect((await ask('GET', '/berth/instances', member('modest'))).status).toBe(200);
  await ask('DELETE', `/berth/instances/${uuid}`, admin);
  expect((await Promise.all(waits)).map(({ status }) => status)).toEqual([200, 200]);
});

/** Reads a stream of events. */
function listen(headers: Record<string, string>) {
  const heard: Record<string, unknown>[] = [];
  let wake = () => {};
  const sent = request(`${url}/berth/events`, { headers });
  const opened = new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.on('error', () => {});
      response.on('data', (chunk: Buffer) => {
        resolve();
        text += chunk.toString();
        const parts = text.split('\n\n');
        text = parts.pop() ?? '';
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1];
          if (data !== undefined) heard.push(JSON.parse(data) as Record<string, unknown>);
        }
        wake();
      });
    });
  });
  sent.end();
  return {
    heard,
    opened,
    async first(test: (event: Record<string, unknown>) => boolean) {
      for (;;) {
        const found = heard.find(test);
        if (found) return found;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close() {
      sent.on('error', () => {});
      sent.destroy();
    },
  };
}
