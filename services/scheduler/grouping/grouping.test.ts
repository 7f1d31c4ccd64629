import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { Client } from '#libs/client/client';
import { seededRandom } from '#libs/domain/random';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { schedulerOptions } from '../options';
import { startScheduler } from '../start';
import { aWorld, hostsOf, type World } from '../testing/world';

let world: World;
let cell: Awaited<ReturnType<typeof aCell>>;
beforeEach(async () => {
  world = aWorld();
  cell = await aCell(world);
});
afterEach(async () => {
  await cell.close();
  await world.close();
});

/** A scheduler of the world, and clients: an operator, and the tenants of two projects. */
async function aCell({ placement, clock }: World) {
  const around = () => ({ clock, random: seededRandom(3), log: silentLog, metrics: createMetrics({}) });
  const broker = new MemoryBroker(clock, silentLog);
  const bus = await openBus({ busUrl: 'memory:' }, around(), broker);
  const mirror = await Mirror.open(placement, around());
  const config = readConfig(schedulerOptions, {});
  const scheduler = await startScheduler({ ...around(), bus, placement, mirror, config });
  const clients: Client[] = [];
  const as = async (user: string) => {
    const own = await openBus({ busUrl: `memory://${user}@broker` }, around(), broker);
    const client = new Client(own, { clock, random: seededRandom(clients.length), timeoutMs: 5_000, retryForMs: 0 });
    clients.push(client);
    return client;
  };
  return {
    operator: await as('operator'),
    bank: await as('project.bank'),
    shop: await as('project.shop'),
    async close() {
      for (const client of clients) await client.close();
      await scheduler.close();
      await mirror.close();
      await bus.close();
    },
  };
}

const refusedWith = (reason: string, code: string = expect.any(String)) => expect.objectContaining({ code, reason });

describe('aggregates', () => {
  it('are made, filled, shown, changed and deleted by operators', async () => {
    const { aggregates } = cell.operator;
    await world.report('host-1');
    const { uuid } = await aggregates.create('east', { availability_zone: 'east' });
    expect(await aggregates.addHost('east', 'host-1')).toMatchObject({ uuid, hostCount: 1 });
    expect(await aggregates.update(uuid, { name: 'far', set: { rack: '7' } })).toMatchObject({ name: 'far' });
    expect(await aggregates.show('far')).toMatchObject({
      uuid,
      metadata: { availability_zone: 'east', rack: '7' },
      hosts: ['host-1'],
    });
    expect(await cell.operator.hosts('host-1')).toMatchObject([{ availabilityZone: 'east', aggregates: [uuid] }]);
    await expect(aggregates.delete('far')).rejects.toEqual(refusedWith('aggregate_in_use', 'failed_precondition'));
    await aggregates.removeHost('far', 'host-1');
    expect(await aggregates.delete('far')).toMatchObject({ uuid, name: 'far' });
    expect(await aggregates.list()).toEqual([]);
  });

  it('refuse what can not be meant, with a reason', async () => {
    const { aggregates } = cell.operator;
    await world.report('host-1');
    await aggregates.create('east', { availability_zone: 'east' });
    await aggregates.create('west', { availability_zone: 'west' });
    await aggregates.addHost('east', 'host-1');
    const refusals: readonly [() => Promise<unknown>, string][] = [
      [() => aggregates.create('east'), 'aggregate_exists'],
      [() => aggregates.addHost('west', 'host-1'), 'other_zone'],
      [() => aggregates.addHost('west', 'nobody'), 'no_such_host'],
      [() => aggregates.addHost('north', 'host-1'), 'no_such_aggregate'],
      [() => aggregates.create('heavy', { cpu_weight_multiplier: 'much' }), 'bad_multiplier'],
      [() => aggregates.create('large', { text: 'x'.repeat(255), more: '' }), 'missing_field'],
      [
        () =>
          aggregates.update('east', {
            set: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'x'.repeat(250)])),
          }),
        'too_long',
      ],
      [() => aggregates.zones('north'), 'no_such_zone'],
    ];
    for (const [ask, reason] of refusals) await expect(ask()).rejects.toEqual(refusedWith(reason));
    await world.occupy('host-1', { VCPU: 1 });
    await expect(aggregates.removeHost('east', 'host-1')).rejects.toEqual(refusedWith('host_in_use'));
  });

  it('are operators’; which zones there are everybody may know', async () => {
    await world.report('host-1');
    await world.report('host-2');
    await cell.operator.aggregates.create('east', { availability_zone: 'east' });
    await cell.operator.aggregates.addHost('east', 'host-1');
    await cell.operator.setHostEnabled('host-1', false);
    const { bank } = cell;
    for (const ask of [
      () => bank.aggregates.list(),
      () => bank.aggregates.create('mine'),
      () => bank.aggregates.delete('east'),
    ]) {
      await expect(ask()).rejects.toEqual(refusedWith('services_only', 'permission_denied'));
    }
    expect(await bank.aggregates.zones()).toEqual({
      zones: [
        { name: 'east', hostCount: 1, availableCount: 0 },
        { name: 'nova', hostCount: 1, availableCount: 1 },
      ],
      hosts: [],
    });
    expect((await bank.aggregates.zones('east')).hosts).toEqual([]);
    expect((await cell.operator.aggregates.zones('east')).hosts).toEqual(['host-1']);
  });
});

describe('groups', () => {
  const WEB = {
    projectId: 'bank',
    name: 'web',
    policy: 'anti-affinity',
    maxPerHost: 1,
    metadata: { tier: '1' },
  } as const;

  it('are a tenant’s, for its own project', async () => {
    const { bank, shop, operator } = cell;
    expect(await bank.groups.create(WEB)).toMatchObject({ ...WEB, memberCount: 0 });
    expect(await bank.groups.create(WEB)).toMatchObject(WEB);
    const wrong = refusedWith('wrong_project', 'permission_denied');
    await expect(shop.groups.create(WEB)).rejects.toEqual(wrong);
    await expect(shop.groups.list('bank')).rejects.toEqual(wrong);
    await expect(shop.groups.delete('bank', 'web')).rejects.toEqual(wrong);
    await expect(shop.groups.list()).rejects.toEqual(refusedWith('services_only'));
    await shop.groups.create({ ...WEB, projectId: 'shop' });
    expect((await operator.groups.list()).map(({ projectId }) => projectId)).toEqual(['bank', 'shop']);
    expect(await bank.groups.list('bank')).toMatchObject([WEB]);
    await expect(bank.groups.create({ ...WEB, maxPerHost: 2 })).rejects.toEqual(refusedWith('group_exists'));
    expect(await bank.groups.delete('bank', 'web')).toMatchObject(WEB);
    await expect(bank.groups.show('bank', 'web')).rejects.toEqual(refusedWith('no_such_group', 'not_found'));
  });

  it('give their rules to requests that name them, on every scheduler, and show their members', async () => {
    for (const host of ['a', 'b']) await world.report(host);
    const scheduler = await world.scheduler();
    await cell.bank.groups.create(WEB);
    const spec = { projectId: 'bank', group: { id: 'web', policy: undefined, maxPerHost: 0 } } as const;
    const uuids = [randomUUID(), randomUUID()].sort();
    expect(hostsOf(await scheduler.select(spec, uuids)).sort()).toEqual(['a', 'b']);
    expect((await cell.bank.groups.show('bank', 'web')).members).toEqual(uuids);
    const { noValidHost } = (await scheduler.select(spec)).response;
    expect(noValidHost?.filters).toMatchObject([{ filter: 'group_anti_affinity', refused: 2 }]);
    expect(await cell.bank.groups.show('bank', 'web')).toMatchObject({ memberCount: 2 });
  });

  it('spread as they say, on every scheduler', async () => {
    for (const host of ['a1', 'a2', 'b1']) await world.report(host);
    await world.aggregate('a', { rack: 'a' }, 'a1', 'a2');
    await world.aggregate('b', { rack: 'b' }, 'b1');
    const spread = { by: 'rack', maxSkew: 1 };
    expect(await cell.bank.groups.create({ ...WEB, spread })).toMatchObject({ spread });
    const scheduler = await world.scheduler();
    const spec = { projectId: 'bank', group: { id: 'web', policy: undefined, maxPerHost: 0 } } as const;
    expect(hostsOf(await scheduler.select(spec, 3)).sort()).toEqual(['a1', 'a2', 'b1']);
    const affine = { ...WEB, name: 'affine', policy: 'affinity', spread } as const;
    await expect(cell.bank.groups.create(affine)).rejects.toEqual(refusedWith('conflicting_rules'));
    const nothing = { ...WEB, name: 'nothing', spread: { by: '', maxSkew: 1 } };
    await expect(cell.bank.groups.create(nothing)).rejects.toEqual(refusedWith('missing_field'));
  });

  it('are not found in another project, and are not overruled by what a request says', async () => {
    await world.report('a');
    const scheduler = await world.scheduler();
    await cell.bank.groups.create(WEB);
    const named = { id: 'web', policy: undefined, maxPerHost: 0 } as const;
    await expect(scheduler.select({ projectId: 'shop', group: named })).rejects.toEqual(refusedWith('no_such_group'));
    const said = { id: 'web', policy: 'affinity', maxPerHost: 1 } as const;
    await expect(scheduler.select({ projectId: 'bank', group: said })).rejects.toEqual(
      refusedWith('group_rules_differ', 'failed_precondition'),
    );
    expect(hostsOf(await scheduler.select({ projectId: 'shop', group: said }))).toEqual(['a']);
    expect(() => scheduler.explain({ projectId: 'shop', group: named })).toThrow("has no group 'web'");
  });
});
