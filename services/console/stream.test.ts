import { inventory } from '#libs/domain/inventory';
import { MIGRATION_CONSUMER, migrationUuidOf } from '#libs/domain/moves/migration';
import { anInstance } from '#libs/testing/instances/instance';
import { aReport, aWrite, claim, commit, mustReport } from '#libs/testing/placement/placement';
import type { FleetAll, FleetChange } from './api/fleet';
import type { HostPage } from './api/host';
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

it('tells of a host who wrote its traits, and what of it others use', async () => {
  const { placement } = world;
  const inventories = { VCPU: inventory(8, { reserved: 3 }) };
  await mustReport(
    placement,
    aReport({ sequence: 2, inventories, externalUsage: { VCPU: 2 }, traits: ['HW_CPU_X86_AVX'] }),
  );
  await commit(placement, { kind: 'create_name', catalogue: 'trait', name: 'CUSTOM_FAST' });
  const traits = ['CUSTOM_FAST', 'HW_CPU_X86_AVX'];
  await commit(placement, { kind: 'write_traits', providerUuid: ROOT, generation: undefined, traits });
  const page = await new Browse(world.url).listen('/api/stream?page=host&name=host-1');
  const { providers } = await page.until<HostPage>('page', (one) => one.providers[0]?.otherTraits.length === 1);
  expect(providers).toMatchObject([
    {
      agentTraits: ['HW_CPU_X86_AVX'],
      otherTraits: ['CUSTOM_FAST'],
      inventories: [{ resourceClass: 'VCPU', capacity: 5, reserved: 1, external: 2 }],
    },
  ]);
  page.close();
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

it('lists on the page of a host what holds something there, also what is leaving it', async () => {
  const [stays, leaves] = [
    anInstance({ state: 'active', host: 'host-1' }),
    anInstance({ state: 'resize', host: 'host-2' }),
  ];
  for (const one of [stays, leaves]) await world.instances.create(one.requestId, [one]);
  const [here, there] = [{ [ROOT]: { VCPU: 2 } }, { [SECOND]: { VCPU: 3 } }];
  const migration = aWrite(here, { uuid: migrationUuidOf(leaves.uuid), consumerType: MIGRATION_CONSUMER });
  await claim(world.placement, aWrite(here, { uuid: stays.uuid }), aWrite(there, { uuid: leaves.uuid }), migration);
  const page = await new Browse(world.url).listen('/api/stream?page=host&name=host-1');
  const { instances, instanceCount, host } = await page.until<HostPage>('page', (one) => one.host.instances === 2);
  page.close();
  expect(instances.map(({ uuid, resources }) => [uuid, resources])).toEqual([
    [stays.uuid, { VCPU: 2 }],
    [leaves.uuid, { VCPU: 2 }],
  ]);
  expect([instanceCount, host.instances]).toEqual([2, 2]);
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
