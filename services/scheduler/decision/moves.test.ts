import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { requestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { setQuota } from '#libs/testing/placement/projects/placement-store-quotas';
import { aWorld, hostsOf, INVENTORIES, type TestScheduler, uuidOfHost, type World } from '../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

const WHO = { projectId: 'project-1', userId: 'user-1' };

/** An instance of two VCPUs on a, and what moves it. */
async function placed(scheduler: TestScheduler, group?: ServerGroup) {
  const uuid = randomUUID();
  const spec = requestSpec({ VCPU: 2 }, { ...WHO, group });
  const { response } = await scheduler.select({ ...spec, forceHosts: ['a'] }, [uuid]);
  const claimToken = response.destinations[0]?.claimToken ?? 0;
  const migrationUuid = migrationUuidOf(uuid);
  const move = (vcpus: number, ignoreHosts: readonly string[] = [], token = claimToken) => {
    const wanted = { ...requestSpec({ VCPU: vcpus }, { ...WHO, group }), ignoreHosts };
    return scheduler.move(wanted, uuid, { migrationUuid, claimToken: token, sourceHost: 'a' });
  };
  const held = async () => {
    const claims = await world.placement.consumers([uuid, migrationUuid]);
    return [uuid, migrationUuid].map((one) => claims.find((claim) => claim.uuid === one)?.allocations);
  };
  return { uuid, migrationUuid, move, held };
}

const on = (host: string, VCPU: number) => ({ [uuidOfHost(host)]: { VCPU } });

it('passes what an instance holds to its migration in the commit that claims its destination', async () => {
  await world.report('a');
  await world.report('b');
  const { uuid, migrationUuid, move, held } = await placed(await world.scheduler());
  expect(hostsOf(await move(2, ['a']))).toEqual(['b']);
  expect(await held()).toEqual([on('b', 2), on('a', 2)]);
  const [own, kept] = await world.placement.consumers([uuid, migrationUuid]);
  expect(own?.claimToken).toBe(kept?.claimToken);
  expect(new Set([own?.consumerType, kept?.consumerType])).toEqual(new Set(['INSTANCE', 'MIGRATION']));
});

it('says what has the uuid of its migration, and what ends that', async () => {
  await world.report('a');
  await world.report('b');
  const { migrationUuid, move, held } = await placed(await world.scheduler());
  await world.occupy('b', { VCPU: 1 }, undefined, migrationUuid);
  const refused = {
    reason: 'migration_uuid_taken',
    message: expect.stringContaining(`terminate the instance of that uuid`),
  };
  await expect(move(2, ['a'])).rejects.toMatchObject(refused);
  expect(await held()).toEqual([on('a', 2), on('b', 1)]);
});

it('answers the same when it is asked again, whatever the request says of where it is', async () => {
  await world.report('a');
  await world.report('b');
  const { move, held } = await placed(await world.scheduler());
  const first = await move(2, ['a']);
  const again = await move(2, ['a']);
  expect(again.response.destinations).toMatchObject([{ claimToken: first.response.destinations[0]?.claimToken }]);
  expect(await held()).toEqual([on('b', 2), on('a', 2)]);
});

it('resizes on the same host wherever the difference fits, and answers the same when it is asked again', async () => {
  await world.report('a');
  const { move, held } = await placed(await world.scheduler());
  expect((await move(9)).response.noValidHost?.summary).toContain('capacity_vcpu');
  expect(await held()).toEqual([on('a', 2), undefined]);
  const first = await move(8);
  expect(await held()).toEqual([on('a', 8), undefined]);
  const again = await move(8);
  expect(again.response.destinations).toMatchObject([{ claimToken: first.response.destinations[0]?.claimToken }]);
  expect(await held()).toEqual([on('a', 8), undefined]);
});

it('keeps in place the larger size of each class, so that both ways stay open', async () => {
  await world.report('a');
  const { uuid, migrationUuid, move, held } = await placed(await world.scheduler());
  await world.occupy('a', { VCPU: 6 });
  expect(hostsOf(await move(1))).toEqual(['a']);
  expect(await held()).toEqual([on('a', 1), on('a', 1)]);
  const [own, kept] = await world.placement.consumers([uuid, migrationUuid]);
  expect(own?.claimToken).toBe(kept?.claimToken);
});

it('makes an instance smaller on a host that is over its capacity', async () => {
  await world.report('a');
  const { move, held } = await placed(await world.scheduler());
  await world.occupy('a', { VCPU: 6 });
  await world.report('a', { inventories: { ...INVENTORIES, VCPU: inventory(4) } });
  expect(hostsOf(await move(1))).toEqual(['a']);
  expect(await held()).toEqual([on('a', 1), on('a', 1)]);
});

it.each([
  ['at its limits', { VCPU: 2, instances: 1 }],
  ['beyond its limits', { VCPU: 1, instances: 0 }],
])('moves, and makes smaller, what is of a project %s: a move counts once', async (_, limits) => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const [moved, smaller] = [await placed(scheduler), await placed(scheduler)];
  await setQuota(world.placement, 'project-1', { limits: { VCPU: limits.VCPU * 2, instances: limits.instances * 2 } });
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect(hostsOf(await moved.move(2, ['a']))).toEqual(['b']);
  expect(hostsOf(await smaller.move(1))).toHaveLength(1);
  const [usage] = await world.placement.projectUsages();
  // The larger side of each counts until it is confirmed: it may go back.
  expect(usage?.used).toEqual({ VCPU: 4, instances: 2 });
});

it('counts the difference of a larger size for the quota', async () => {
  await world.report('a');
  await setQuota(world.placement, 'project-1', { limits: { VCPU: 4, instances: 1 } });
  const scheduler = await world.scheduler();
  const { move } = await placed(scheduler);
  await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
  expect((await move(5)).response.noValidHost?.quotaExceeded).toMatchObject([{ resourceClass: 'VCPU', asked: 3 }]);
  expect(hostsOf(await move(4))).toEqual(['a']);
});

it('refuses to move what is held by another claim than was asked to be moved', async () => {
  await world.report('a');
  const { move, held } = await placed(await world.scheduler());
  await expect(move(3, [], 1)).rejects.toMatchObject({ reason: 'claim_changed' });
  expect(await held()).toEqual([on('a', 2), undefined]);
});

it('lets no instance have the uuid of a migration', async () => {
  await world.report('a');
  await world.report('b');
  const scheduler = await world.scheduler();
  const { migrationUuid, move } = await placed(scheduler);
  await move(2, ['a']);
  await expect(scheduler.select({ resources: { VCPU: 1 } }, [migrationUuid])).rejects.toMatchObject({
    reason: 'foreign_consumer',
  });
});

it('places nobody of an anti-affinity group where a member may go back to, and says why', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const group = { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const scheduler = await world.scheduler();
  const { migrationUuid, move } = await placed(scheduler, group);
  expect(hostsOf(await move(2, ['a']))).toEqual(['b']);
  const another = { resources: { VCPU: 1 }, group };
  const { noValidHost } = (await scheduler.select(another)).response;
  expect(noValidHost?.filters).toMatchObject([{ filter: 'group_anti_affinity', refused: 2 }]);
  expect(scheduler.explain(another, 'a').hosts[0]?.refusals).toEqual([
    'group_anti_affinity: 0 of group web are here and 1 on a move may come back, 1 may be',
  ]);
  const [kept] = await world.placement.consumers([migrationUuid]);
  const claimToken = kept?.claimToken ?? 0;
  await world.placement.commit({
    kind: 'release_claim',
    consumerUuid: migrationUuid,
    claimToken,
    atMs: 1,
    consumerType: 'MIGRATION',
  });
  await world.clock.advance(0);
  expect(hostsOf(await scheduler.select(another))).toEqual(['a']);
});

it('refuses a target where the policy of its group forbids it, with the reason', async () => {
  for (const host of ['a', 'b']) await world.report(host);
  const group = { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const scheduler = await world.scheduler();
  const { move } = await placed(scheduler, group);
  await scheduler.select({ resources: { VCPU: 1 }, group, forceHosts: ['b'] });
  expect((await move(2, ['a'])).response.noValidHost?.filters).toContainEqual(
    expect.objectContaining({ filter: 'group_anti_affinity', reasons: { group_is_here: 1 } }),
  );
});

it('does not count the instance itself as another member of its group', async () => {
  await world.report('a');
  await world.report('b');
  const group = { id: 'web', policy: 'affinity', maxPerHost: 1 } as const;
  const { move, held } = await placed(await world.scheduler(), group);
  expect(hostsOf(await move(2, ['a']))).toEqual(['b']);
  expect(await held()).toEqual([on('b', 2), on('a', 2)]);
});
