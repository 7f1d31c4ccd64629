import type { RequestSpec } from '#libs/domain/request-spec';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { eventually } from '../test-cell';
import { CellsWorld, type OpenedCell } from './cells-world';

/*
 * A server group that spreads over three zones of two cells, one of which both cells have: real processes, with two conductors and two
 * schedulers of the top at once.
 */

const B = 'b';
const ZONES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cell1: { h1: 'z1', h2: 'z2' },
  [B]: { h1: 'z2', h2: 'z3' },
};
const TOP = { BERTH_TOP_CELLS: 'cell1,b', BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '200' };
const CONDUCTOR = {
  ...TOP,
  BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '500',
  BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS: '3000',
};

let world: CellsWorld;
let top: OpenedCell;
let first: OpenedCell;
let second: OpenedCell;

beforeAll(async () => {
  world = await CellsWorld.start(['cell1', B, 'top'], ['h1', 'h2']);
  [top, first, second] = await Promise.all([world.open('top'), world.open('cell1'), world.open(B)]);
  await Promise.all(['cell1', B].flatMap((cell) => [world.launch(cell, 'scheduler'), world.launch(cell, 'conductor')]));
  await Promise.all([
    ...['top-scheduler-1', 'top-scheduler-2'].map((name) => world.launch('top', name, TOP)),
    ...['top-conductor-1', 'top-conductor-2'].map((name) => world.launch('top', name, CONDUCTOR)),
  ]);
  const inventory = { BERTH_AGENT_INVENTORY: 'VCPU=32,MEMORY_MB=65536' };
  for (const [cell, hosts] of Object.entries(ZONES)) {
    const { client } = cell === B ? second : first;
    for (const [host, zone] of Object.entries(hosts)) {
      await world.launch(cell, `agent.${host}`, inventory);
      await client.aggregates.create(zone, { availability_zone: zone });
      const addHost = () => client.aggregates.addHost(zone, host);
      // Its first report may still be on its way.
      await eventually(`${host} of ${cell} is in its zone`, () =>
        addHost().then(
          () => true,
          () => false,
        ),
      );
    }
  }
  await eventually('the top knows all zones', async () => {
    const cells = await top.client.cells();
    return cells.map(({ summary }) => summary?.zones.join('+')).join() === 'z1+z2,z2+z3';
  });
});
afterAll(() => world?.stop());

const of = (group: string, fields: Partial<RequestSpec> = {}) => {
  const named = { id: group, policy: undefined, maxPerHost: 0 } as const;
  return { spec: aRequestSpec({ resources: { VCPU: 1 }, group: named, ...fields }) };
};

function createGroup(name: string, by = 'availability_zone') {
  const rules = { policy: 'soft-anti-affinity', maxPerHost: 1, spread: { by, maxSkew: 1 } } as const;
  return top.client.groups.create({ projectId: 'project-1', metadata: {}, name, ...rules });
}

/** Counts instances by the zone of their hosts. */
async function perZone(uuids: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const uuid of uuids) {
    const { cell = '', host, state, fault } = await top.client.instance(uuid);
    const place =
      state === 'active' || state === 'stopped'
        ? (ZONES[cell]?.[host] ?? `${cell} ${host}`)
        : `${state} ${fault?.message}`;
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

/** The same counts from the top's store. */
async function counted(uuids: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { groupDomain } of await top.placement.consumers(uuids)) {
    const zone = groupDomain?.domain ?? 'none';
    counts[zone] = (counts[zone] ?? 0) + 1;
  }
  return counts;
}

const uuidsOf = (events: readonly { readonly instanceUuid: string }[]) =>
  events.map(({ instanceUuid }) => instanceUuid);
const end = (uuids: readonly string[]) =>
  Promise.all(uuids.map((uuid) => top.client.terminateAndWait(uuid, { timeoutMs: 30_000 })));

it('requests at the same time leave a group as even over the zones of both cells as it may be', async () => {
  await createGroup('web');
  const requests = Array.from({ length: 12 }, (_, n) => ({ ...of('web'), count: n % 4 === 0 ? 3 : 1 }));
  const events = await Promise.all(requests.map((one) => top.client.buildAndWait(one, { timeoutMs: 90_000 })));
  const uuids = uuidsOf(events.flat());
  expect(uuids).toHaveLength(18);
  expect(await perZone(uuids)).toEqual({ z1: 6, z2: 6, z3: 6 });
  expect(await counted(uuids)).toEqual({ z1: 6, z2: 6, z3: 6 });
  for (const { client } of [first, second]) expect(await client.groups.list('project-1')).toEqual([]);
  await end(uuids);
  expect(await counted(uuids)).toEqual({});
});

it('what ends gives its place to the next one', async () => {
  await createGroup('db');
  const uuids = uuidsOf(await top.client.buildAndWait({ ...of('db'), count: 3 }, { timeoutMs: 60_000 }));
  expect(await perZone(uuids)).toEqual({ z1: 1, z2: 1, z3: 1 });
  const rows = await Promise.all(uuids.map((uuid) => top.client.instance(uuid)));
  const inZ1 = rows.find(({ cell, host }) => cell === 'cell1' && host === 'h1')?.uuid ?? '';
  await end([inZ1]);
  await eventually('every scheduler of the top tells where the next one goes', async () => {
    const explained = await Promise.all(Array.from({ length: 4 }, () => top.client.explain(of('db').spec)));
    return explained.every(({ zones = [], hosts }) => {
      const [next, ...others] = zones;
      return (
        next?.zone === 'z1' &&
        next.cells.join() === 'cell1' &&
        others.every(({ reason }) => reason === 'group_is_uneven') &&
        hosts.map(({ host, passed }) => `${host} ${passed}`).join() === 'cell1 true,b false'
      );
    });
  });
  const next = uuidsOf(await top.client.buildAndWait(of('db'), { timeoutMs: 60_000 }));
  expect(await perZone(next)).toEqual({ z1: 1 });
  await end([...uuids.filter((uuid) => uuid !== inZ1), ...next]);
});

it('a gang goes to several zones and cells, and to those of enabled cells alone', async () => {
  await createGroup('gang');
  const gang = { ...of('gang'), count: 6, minCount: 6 };
  const uuids = uuidsOf(await top.client.buildAndWait(gang, { timeoutMs: 60_000 }));
  expect(await perZone(uuids)).toEqual({ z1: 2, z2: 2, z3: 2 });
  await end(uuids);
  await top.client.setCellState(B, 'disabled', 'a test');
  // Each scheduler of the top learns of it by itself.
  await eventually('two zones are left', async () => {
    const built = uuidsOf(await top.client.buildAndWait({ ...gang, count: 2, minCount: 2 }, { timeoutMs: 60_000 }));
    const zones = await perZone(built);
    await end(built);
    return zones['z1'] === 1 && zones['z2'] === 1;
  });
  await top.client.setCellState(B, 'enabled');
});

it('a gang that would leave the group uneven, for a zone is full, is refused, and nothing stays claimed', async () => {
  await createGroup('large');
  const large = of('large', { resources: { VCPU: 20 } });
  await eventually('both schedulers of the top know that b is enabled', async () => {
    const uuids = uuidsOf(await top.client.buildAndWait({ ...large, count: 3 }, { timeoutMs: 60_000 }));
    const zones = await perZone(uuids);
    if (zones['z3'] !== 1) await end(uuids);
    return zones['z3'] === 1;
  });
  // Zone z2 has one more host, the others have none.
  const [one] = await top.client.buildAndWait({ ...large, count: 2, minCount: 2 }, { timeoutMs: 60_000 });
  expect(one).toMatchObject({ state: 'error', fault: { reason: 'no_valid_host' } });
  const held = await Promise.all([first, second].map(({ placement }) => heldIn(placement)));
  expect(held.flat().length).toBe(3);
});

it('a STOPPED member goes to a zone of another cell in which the group stays even', async () => {
  const [mover, others] = await stoppedInZ1('moved');
  await top.client.operateAndWait(mover, 'migrate', { targetCell: B, timeoutMs: 60_000 });
  expect(await top.client.instance(mover)).toMatchObject({ state: 'stopped', cell: B, host: 'h2', fault: undefined });
  expect(await counted([mover, ...others])).toEqual({ z2: 1, z3: 1 });
  await eventually('it is gone where it was', async () => {
    const [left] = await first.instances.get([mover]);
    return left?.state === 'deleted';
  });
  await end([mover, ...others]);
});

it('members that move and others that are built at the same time leave a group even, whoever comes first', async () => {
  const groups = await Promise.all(['raced-1', 'raced-2', 'raced-3', 'raced-4'].map(stoppedWithName));
  await Promise.all(
    groups.map(async ({ name, mover, others }) => {
      const [built] = await Promise.all([
        top.client.buildAndWait(of(name), { timeoutMs: 60_000 }),
        top.client.operateAndWait(mover, 'migrate', { targetCell: B, timeoutMs: 60_000 }),
      ]);
      const all = [mover, ...others, ...uuidsOf(built)];
      expect(await perZone(all)).toEqual({ z1: 1, z2: 1, z3: 1 });
      expect(await counted(all)).toEqual({ z1: 1, z2: 1, z3: 1 });
    }),
  );
});

it('a zone is not renamed under its members', async () => {
  const renamed = first.client.aggregates.update('z1', { set: { availability_zone: 'z9' } });
  await expect(renamed).rejects.toMatchObject({ reason: 'host_in_use' });
});

async function stoppedWithName(name: string) {
  const [mover, others] = await stoppedInZ1(name);
  return { name, mover, others };
}

/** A group with a STOPPED member in zone z1, one in z2 and none in z3. */
async function stoppedInZ1(group: string): Promise<[mover: string, others: readonly string[]]> {
  await createGroup(group);
  const uuids = uuidsOf(await top.client.buildAndWait({ ...of(group), count: 3 }, { timeoutMs: 60_000 }));
  const rows = await Promise.all(uuids.map((uuid) => top.client.instance(uuid)));
  const inZone = (zone: string) => rows.find(({ cell = '', host }) => ZONES[cell]?.[host] === zone)?.uuid ?? '';
  await end([inZone('z3')]);
  await top.client.operateAndWait(inZone('z1'), 'stop', { timeoutMs: 30_000 });
  return [inZone('z1'), [inZone('z2')]];
}

async function heldIn(placement: OpenedCell['placement']): Promise<readonly string[]> {
  const uuids: string[] = [];
  await placement.scanConsumers(async (consumers) => {
    uuids.push(...consumers.map(({ uuid }) => uuid));
  });
  return uuids;
}
