import { randomUUID } from 'node:crypto';
import { migrationUuidOf } from '#libs/domain/moves/migration';
import { requestSpec } from '#libs/domain/request-spec';
import { aWorld, type World } from '../../testing/world';

let world: World;
beforeEach(() => {
  world = aWorld();
});
afterEach(() => world.close());

/** VCPUs of the only host. */
const LARGEST = 8;
const AGGREGATE = '7d15a3f0-5f7a-4f5e-9c53-0d0f6f6f6f6f';

it.each([
  ['zone', { availabilityZone: 'nvoa' }, "there is no zone 'nvoa', did you mean 'nova'?; zones: nova. 0 of 1 host fit"],
  ['host', { forceHosts: ['h9'] }, "there is no host 'h9'. 0 of 1 host fit"],
  ['aggregate', { memberOf: [[AGGREGATE]] }, `nothing is in aggregate ${AGGREGATE}. 0 of 1`],
  ['class', { resources: { VCPU: 1, CUSTOM_GOLD: 1 } }, 'nobody offers CUSTOM_GOLD. 0 of 1 host fit'],
  ['trait', { requiredTraits: ['CUSTOM_FAST'] }, 'nobody offers trait CUSTOM_FAST. 0 of 1 host fit'],
])(
  'names a %s that nobody has before all that refuses hosts, when it selects and when it explains',
  async (_, asked, said) => {
    await world.report('a');
    const scheduler = await world.scheduler();
    const spec = { resources: { VCPU: 1 }, ...asked };
    expect((await scheduler.select(spec)).response.noValidHost?.summary).toContain(said);
    expect(scheduler.explain(spec).diagnosis.summary).toContain(said);
  },
);

it('names nothing that somebody has, full or not', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  await world.occupy('a', { VCPU: 2 });
  const spec = { resources: { VCPU: LARGEST }, forceHosts: ['a'], availabilityZone: 'nova' };
  const { noValidHost } = (await scheduler.select(spec)).response;
  expect(noValidHost?.summary).toMatch(/^0 of 1 host fit: 1 lacks free VCPU/);
  expect(noValidHost?.impossible).toBeUndefined();
});

it('tells what is larger than every host from what finds them full', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const said = `the largest host has ${LARGEST} VCPU: ${LARGEST + 1} can never fit`;
  const spec = { resources: { VCPU: LARGEST + 1 } };
  expect((await scheduler.select(spec)).response.noValidHost).toMatchObject({
    impossible: [said],
    summary: expect.stringContaining(`${said}. 0 of 1 host fit: 1 lacks free VCPU`),
  });
  expect(scheduler.explain(spec).diagnosis.impossible).toEqual([said]);
});

it('calls the host that a move leaves so, and not ignored by the request', async () => {
  await world.report('a');
  const scheduler = await world.scheduler();
  const uuid = randomUUID();
  const spec = requestSpec({ VCPU: 2 }, { projectId: 'project-1', userId: 'user-1' });
  const { response } = await scheduler.select(spec, [uuid]);
  const claimToken = response.destinations[0]?.claimToken ?? 0;
  const move = { migrationUuid: migrationUuidOf(uuid), claimToken, sourceHost: 'a' };
  const moved = await scheduler.move({ ...spec, ignoreHosts: ['a'] }, uuid, move);
  expect(moved.response.noValidHost?.summary).toBe('0 of 1 host fit: 1 is left by the move (a) (ignored)');
});
