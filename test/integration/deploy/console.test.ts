import { randomUUID } from 'node:crypto';
import { connect as connectBroker } from 'amqplib';
import { connect } from '#libs/client/connect';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { urlIn } from '#libs/testing/servers/child';
import type { FleetAll } from '../../../services/console/api/fleet';
import type { HealthPage } from '../../../services/console/api/health';
import type { InstancePage } from '../../../services/console/api/instance';
import { Browse } from '../../../services/console/testing/browse';
import { type Composition, startComposition } from './composition';

/*
 * The console of deploy/docker-compose.yml, with the settings, users and rights that the file gives it: all its pages and all
 * operators' actions. permissions.test.ts and redis.test.ts beside this check its users' limits.
 */

let composition: Composition;
let browse: Browse;
let csrf: string;

beforeAll(async () => {
  composition = await startComposition();
  await Promise.all(['scheduler', 'conductor'].map((name) => composition.run(name)));
  const [console] = await Promise.all([
    composition.run('console', { BERTH_CONSOLE_PORT: '0', BERTH_CONSOLE_HOST: '127.0.0.1' }),
    composition.run('compute-agent-1'),
    composition.run('compute-agent-2'),
  ]);
  browse = new Browse(urlIn(console, 'console_listening'));
  csrf = await browse.signIn('placement-token-for-trying');
});
afterAll(() => composition.stop());

const tenant = () => connect({ url: composition.brokerUrl('project.demo', 'demo-for-trying') });

async function act(path: string, words: Readonly<Record<string, string>>) {
  return browse.ask('POST', path, words, { 'x-csrf-token': csrf });
}

it('asks who one is', async () => {
  expect(await new Browse(browse.url).ask('GET', '/api/session')).toMatchObject({ status: 401 });
  expect(await browse.ask('GET', '/api/session')).toMatchObject({ status: 200, body: { mayAct: true } });
});

it('shows the fleet and an instance as it is built, and moves, stops and terminates it', async () => {
  const fleet = await browse.listen('/api/stream?page=fleet');
  await fleet.until<FleetAll>('fleet_all', ({ hosts }) => hosts.length > 0);
  const client = await tenant();
  const spec = aRequestSpec({ projectId: 'demo', resources: { VCPU: 1 } });
  const [built] = await client.buildAndWait({ spec });
  const { instanceUuid: uuid = '', host = '' } = built ?? {};
  await fleet.until('fleet');
  fleet.close();
  const page = await browse.listen(`/api/stream?page=instance&name=${uuid}`);
  await page.until<InstancePage>('page', ({ state }) => state === 'active');
  for (const [action, state] of [
    ['stop', 'stopped'],
    ['start', 'active'],
    ['terminate', 'deleted'],
  ] as const) {
    expect(await act(`/api/instances/${uuid}/actions`, { action })).toMatchObject({ status: 200 });
    await page.until<InstancePage>('page', (it) => it.state === state);
  }
  page.close();
  for (const name of ['builds', 'capacity', 'health', 'instances', `host&name=${host}`]) {
    const other = await browse.listen(`/api/stream?page=${name}`);
    await other.until('page');
    other.close();
  }
  await client.close();
});

it('tells of processes as they announce themselves, and how long queues are', async () => {
  const page = await browse.listen('/api/stream?page=health');
  const areReady = ({ processes = [] }: HealthPage) => processes.filter(({ state }) => state === 'ready').length === 2;
  const { processes, queues } = await page.until<HealthPage>('page', areReady);
  page.close();
  expect(processes?.map(({ service }) => service)).toEqual(['conductor', 'scheduler']);
  expect(queues.filter(({ depth }) => depth < 0)).toEqual([]);
});

it('answers questions', async () => {
  expect(await browse.ask('GET', '/api/choices')).toMatchObject({
    status: 200,
    body: { flavors: [], zones: ['nova'] },
  });
  expect(await browse.ask('GET', '/api/explain?resources=VCPU:1')).toMatchObject({ status: 200 });
  expect(await browse.ask('GET', '/api/search?q=host')).toMatchObject({ status: 200 });
});

it('disables and enables a host, drains it, and has everybody know who did it', async () => {
  const builds = await browse.listen('/api/stream?page=builds');
  for (const action of ['disable', 'enable', 'drain', 'enable'])
    expect(await act('/api/hosts/host-2/actions', { action })).toMatchObject({ status: 200 });
  await builds.until<{ actions: readonly { action: string; userId: string }[] }>('page', ({ actions }) =>
    actions.some(({ action, userId }) => action === 'host_drain' && userId === 'operator'),
  );
  builds.close();
});

it('shows dead letters, and sends one again as the word of who sent it', async () => {
  const connection = await connectBroker(composition.brokerUrl('project.demo', 'demo-for-trying'));
  const channel = await connection.createConfirmChannel();
  channel.publish('berth.requests', `${BUILD_REQUESTS.name}.project.demo`, Buffer.from('?'), {
    userId: 'project.demo',
    type: 'berth.conductor.v1.Unknown',
    messageId: randomUUID(),
  });
  await channel.waitForConfirms();
  await connection.close();
  const letters = { status: 200, body: [{ queue: BUILD_REQUESTS.name, reason: 'unknown_type' }] };
  const read = () => browse.ask('GET', '/api/dead-letters');
  const readUntilThere = async () => {
    let answer = await read();
    for (let i = 0; i < 20 && (answer.body as unknown[]).length === 0; i++) answer = await read();
    return answer;
  };
  expect(await readUntilThere()).toMatchObject(letters);
  expect(await act('/api/dead-letters/actions', { action: 'requeue', reason: 'unknown_type' })).toMatchObject({
    status: 200,
  });
  expect(await readUntilThere()).toMatchObject(letters);
});
