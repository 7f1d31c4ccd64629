import { inventory } from '#libs/domain/inventory';
import { aReport, aWrite, claim, commit, mustReport } from '#libs/testing/placement/placement';
import type { FleetAll, FleetChange } from './api/fleet';
import type { Shell } from './api/stream';
import { Browse, type Listening } from './testing/browse';
import { openWorld, type World } from './testing/world';

const ROOT = aReport().providerUuid;
const SECOND = 'a0000000-0000-4000-8000-000000000002';

let world: World;
let stream: Listening;

beforeEach(async () => {
  world = await openWorld();
  await mustReport(world.placement, aReport());
  await mustReport(world.placement, aReport({ host: 'host-2', providerUuid: SECOND }));
  stream = await new Browse(world.url).listen('/api/stream?page=fleet');
  await stream.until<FleetAll>('fleet_all', ({ hosts }) => hosts.length === 2);
});
afterEach(async () => {
  stream.close();
  await world.close();
});

it('tells all hosts, and the frame around the page', async () => {
  const other = await new Browse(world.url).listen('/api/stream?page=fleet');
  expect(await other.until<FleetAll>('fleet_all')).toMatchObject({
    classes: ['VCPU', 'MEMORY_MB'],
    hosts: [{ name: 'host-1', zone: 'nova', flags: 0, used: [0, 0], capacity: [8, 16_384] }, { name: 'host-2' }],
  });
  expect(await other.until<Shell>('shell')).toMatchObject({ hosts: { all: 2, down: 0 }, stale: '' });
  other.close();
});

it('tells what changed since, and not the rest', async () => {
  await claim(world.placement, aWrite({ [ROOT]: { VCPU: 3 } }));
  const { hosts, gone } = await stream.until<FleetChange>('fleet');
  expect(hosts).toMatchObject([{ name: 'host-1', instances: 1, used: [3, 0] }]);
  expect(gone).toEqual([]);
});

it('tells of a host that is disabled, and counts it', async () => {
  await commit(world.placement, { kind: 'set_host_enabled', host: 'host-1', enabled: false, reason: 'disks' });
  expect((await stream.until<FleetChange>('fleet')).hosts).toMatchObject([{ name: 'host-1', flags: 2 }]);
  await stream.until<Shell>('shell', ({ hosts }) => hosts.disabled === 1);
});

it('tells many changes of one moment as one', async () => {
  for (let n = 0; n < 5; n++) await claim(world.placement, aWrite({ [SECOND]: { VCPU: 1 } }));
  expect((await stream.until<FleetChange>('fleet')).hosts).toMatchObject([{ name: 'host-2', used: [5, 0] }]);
});

it('tells all again when a resource class is new', async () => {
  const inventories = { ...aReport().inventories, VGPU: inventory(2) };
  await mustReport(world.placement, aReport({ sequence: 2, inventories }));
  const { classes } = await stream.until<FleetAll>('fleet_all');
  expect(classes).toEqual(['VCPU', 'MEMORY_MB', 'VGPU']);
});

it('has no page of another name, and no more pages than it is set to', async () => {
  const browse = new Browse(world.url);
  expect(await browse.ask('GET', '/api/stream?page=secrets')).toMatchObject({
    status: 400,
    body: { reason: 'bad_page' },
  });
  const small = await openWorld({ BERTH_CONSOLE_MAX_STREAMS: '1' });
  const first = await new Browse(small.url).listen('/api/stream?page=fleet');
  await first.until('shell');
  expect(await new Browse(small.url).ask('GET', '/api/stream?page=fleet')).toMatchObject({ status: 429 });
  first.close();
  await small.close();
});
