import { get } from 'node:http';
import { createInterface } from 'node:readline';
import type { Asking } from '../../../services/placement-api/testing/client';
import { TestCell } from '../test-cell';

/* The API to build on a real broker and a real store: two processes of it, a conductor, schedulers and an agent. */

const MEMBER: Asking = { as: 'ann:shop', roles: 'member' };
const SMALL = { name: 'web', count: 2, resources: { VCPU: 1, MEMORY_MB: 64 } };

interface Built {
  readonly instances: readonly { readonly uuid: string; readonly href: string }[];
}

let cell: TestCell;
beforeAll(async () => {
  cell = await TestCell.start();
  const launched = [cell.launch('conductor', {}), cell.launch('compute-agent', { BERTH_AGENT_HOST: 'host-1' })];
  await Promise.all(launched);
});
afterAll(() => cell.stop());

it('builds by one process; a copy through the other builds nothing, and it sees the instances and hears of them', async () => {
  const events = await listen(1);
  const asking = { ...MEMBER, headers: { 'idempotency-key': 'order-1' } };
  const first = await cell.api(0).post('/berth/instances', SMALL, asking);
  expect(first).toMatchObject({ status: 202, body: { is_on_record: true } });
  const copy = await cell.api(1).post('/berth/instances', SMALL, asking);
  expect(copy).toMatchObject({ status: 202, body: first.body as object });
  const { instances } = first.body as Built;
  for (const { href } of instances) {
    const { body } = await cell.api(1).get(`${href}?wait_for=ACTIVE,ERROR`, MEMBER);
    expect(body).toMatchObject({ state: 'ACTIVE', host: 'host-1', project_id: 'shop', fault: null });
  }
  const listed = await cell.api(0).get('/berth/instances', MEMBER);
  expect((listed.body as Built).instances.map(({ uuid }) => uuid)).toEqual(
    instances.map(({ uuid }) => uuid).toSorted(),
  );
  await events.until(instances.map(({ uuid }) => `${uuid} ACTIVE`));
  events.close();
});

it('is asked for no more than the bus: another project sees nothing, and a refusal of the conductor is the answer', async () => {
  const other = await cell.api(0).get('/berth/instances', { as: 'eve:other', roles: 'member' });
  expect(other.body).toEqual({ instances: [], next_marker: null });
  const refused = await cell.api(1).post('/berth/instances', { flavor: 'no-such' }, MEMBER);
  expect(refused).toMatchObject({ status: 404, body: { errors: [{ code: 'berth.no_such_flavor' }] } });
});

it('keeps groups, limits projects, explains, and asks the host before it is selected, by either process', async () => {
  const operator: Asking = { as: 'root:admin', roles: 'admin' };
  const group = { name: 'far', policy: 'anti-affinity' };
  expect(await cell.api(0).post('/berth/groups', group, MEMBER)).toMatchObject({ status: 201 });
  const built = await cell
    .api(1)
    .post('/berth/instances', { ...SMALL, count: 1, group: { id: 'far' }, admission: { confirms_host: true } }, MEMBER);
  const [one] = (built.body as Built).instances;
  const settled = await cell.api(0).get(`${one?.href}?wait_for=ACTIVE,ERROR`, MEMBER);
  expect(settled.body).toMatchObject({ state: 'ACTIVE', host: 'host-1' });
  expect((await cell.api(0).get('/berth/groups/far', MEMBER)).body).toMatchObject({ members: [one?.uuid] });
  const explained = await cell.api(1).post('/berth/explain', { resources: { VCPU: 1 }, group: { id: 'far' } }, MEMBER);
  expect(explained.body).toMatchObject({ diagnosis: { filters: [{ reasons: { group_is_here: 1 } }] } });
  const limits = { limits: { VCPU: 3 } };
  expect(await cell.api(0).put('/berth/quotas/shop', limits, operator)).toMatchObject({ status: 200 });
  expect((await cell.api(1).get('/berth/quotas', MEMBER)).body).toMatchObject({
    quotas: [{ project_id: 'shop', limits: { VCPU: 3 }, used: { VCPU: 3, instances: 3 } }],
  });
  const { body } = await cell.api(0).get('/berth/usage?by=instance,flavor', MEMBER);
  const { shares } = body as { readonly shares: readonly { readonly instance_uuid: string }[] };
  expect(shares.map(({ instance_uuid }) => instance_uuid)).toContain(one?.uuid);
});

/** Hears the events of the project through one of the processes: `uuid STATE`. */
async function listen(n: number) {
  const heard = new Set<string>();
  let wake = () => {};
  const headers = { 'x-auth-token': 'ann:shop', 'x-roles': 'reader' };
  const sent = get(`${cell.apis[n % 2]?.url}/berth/events`, { headers });
  await new Promise<void>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.on('error', () => {});
      const lines = createInterface({ input: response });
      // The stream ends when the test has heard enough.
      lines.on('error', () => {});
      lines.on('line', (line) => {
        resolve();
        if (!line.startsWith('data: ')) return;
        const event = JSON.parse(line.slice(6)) as { readonly instance_uuid: string; readonly state: string };
        heard.add(`${event.instance_uuid} ${event.state}`);
        wake();
      });
    });
  });
  return {
    async until(wanted: readonly string[]) {
      while (!wanted.every((one) => heard.has(one))) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => sent.destroy(),
  };
}
