import { BerthError } from '#libs/domain/errors';
import { ANNOUNCE_MS, announce } from '#libs/placement/announce';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { aReport, commit, mustReport } from '#libs/testing/placement/placement';
import type { BuildsPage } from './api/builds';
import type { CapacityPage } from './api/capacity';
import type { HealthPage } from './api/health';
import { Browse } from './testing/browse';
import { openWorld, type World } from './testing/world';

const clock = systemClock();
const READY = { ready: true } as const;

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

async function look(isMeant: (page: HealthPage) => boolean): Promise<HealthPage> {
  const stream = await new Browse(world.url).listen('/api/stream?page=health');
  const page = await stream.until<HealthPage>('page', isMeant);
  stream.close();
  return page;
}

it('tells of each process whether it is ready, and of silent ones since when', async () => {
  const { placement } = world;
  const parts = { clock, log: silentLog };
  const readiness = () => READY;
  const one = announce(placement, 'scheduler', { ...parts, processName: 's1', readiness });
  const notYet = () => ({ ready: false, reason: 'mirror: loading' }) as const;
  const other = announce(placement, 'conductor', { ...parts, processName: 'c1', readiness: notYet });
  const silentAtMs = clock.now() - 4 * ANNOUNCE_MS;
  const gone = { service: 'placement-api', name: 'p1', version: '0.0.1', startedAtMs: 1, problem: '' };
  await placement.noteProcess(gone, silentAtMs, 86_400_000);
  const { processes } = await look((page) => page.processes?.length === 3);
  expect(processes).toMatchObject([
    { service: 'conductor', name: 'c1', state: 'not_ready', problem: 'mirror: loading' },
    { service: 'placement-api', name: 'p1', state: 'silent', version: '0.0.1', seenAtMs: silentAtMs },
    { service: 'scheduler', name: 's1', state: 'ready' },
  ]);
  await Promise.all([one.close(), other.close()]);
  expect((await placement.processes()).map(({ name }) => name)).toEqual(['p1']);
});

it('tells of agents those with trouble first, with their last report', async () => {
  const { placement } = world;
  const atMs = clock.now();
  await mustReport(placement, aReport({ atMs }));
  const dead = { host: 'host-2', providerUuid: 'a0000000-0000-4000-8000-000000000002', atMs: atMs - 600_000 };
  await mustReport(placement, aReport(dead));
  await commit(placement, { kind: 'sweep_hosts', atMs, silentSinceMs: atMs - 300_000, limit: 10 });
  const { agents, agentCount } = await look((page) => page.agents.some(({ down }) => down > 0));
  expect(agentCount).toBe(2);
  expect(agents).toMatchObject([
    { name: 'host-2', hosts: 1, down: 1 },
    { name: 'host-1', hosts: 1, down: 0, heardAtMs: atMs },
  ]);
});

it('tells of queues and the store, also of what does not answer', async () => {
  const { queues, store, cells } = await look(() => true);
  expect(queues.map(({ name }) => name)).toEqual([
    'build.requests',
    'build.results',
    'rpc.scheduler',
    'rpc.conductor',
    'stats',
    'host.leases',
    'dead-letters',
  ]);
  expect(store).toMatchObject({ answeredInMs: expect.any(Number), stale: '' });
  expect(cells).toEqual([]);
});

it('does not tell what it could not read as none', async () => {
  const { placement } = world;
  await mustReport(placement, aReport({ atMs: clock.now() }));
  await look(({ agents }) => agents.length === 1);
  const away = () => Promise.reject(new BerthError('unavailable', 'store_away', 'the store is away'));
  Object.assign(placement, { processes: away, heardAt: away, identify: away });
  const { processes, agents, store } = await look(({ store: { answeredInMs } }) => answeredInMs < 0);
  expect(processes).toBeUndefined();
  expect(agents).toMatchObject([{ name: 'host-1', heardAtMs: -1 }]);
  expect(store.answeredInMs).toBe(-1);
});

it('shows capacity and builds without a conductor, and what only a conductor knows as unknown', async () => {
  const { placement } = world;
  await mustReport(placement, aReport({ atMs: clock.now() }));
  const page = async <T>(name: string, isMeant?: (page: T) => boolean) => {
    const stream = await new Browse(world.url).listen(`/api/stream?page=${name}`);
    const found = await stream.until<T>('page', isMeant);
    stream.close();
    return found;
  };
  const { flavors } = await page<CapacityPage>('capacity', ({ zones }) => zones.length === 1);
  expect(flavors).toBeUndefined();
  Object.assign(world.instances, { countStates: () => Promise.reject(new Error('away')) });
  expect(await page<BuildsPage>('builds', ({ inError }) => inError < 0)).toMatchObject({ rates: { range: '10m' } });
});
