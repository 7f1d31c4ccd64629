import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Running } from '#libs/runtime/service';
import { mustCommit } from '#libs/testing/placement/placement';
import { ConductorWorld } from '../testing/conductor-world';

/* Alternates by reference to the store. */

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 1, h2: 1, h3: 1 });
  world.referenceTtlMs = 60_000;
  conductor = await world.conductor();
});

afterEach(async () => {
  await world.closed(conductor);
});

const attemptsOf = async () => (await world.only()).attempts.map(({ host, outcome }) => `${host} ${outcome}`);

it('claims an alternate with what its reference stands for, and keeps that as proof of the claim', async () => {
  world.behaviour.set('h1', 'fails');
  await world.request();
  await world.clock.advance(1_000);
  expect(await attemptsOf()).toEqual(['h1 failed', 'h2 active']);
  const { uuid, allocationRequest } = await world.only();
  expect(world.opened(allocationRequest)).toMatchObject({ consumerUuid: uuid, host: 'h2' });
  expect(await world.claims()).toEqual([`${uuid} h2`]);
});

it('has destinations selected again, but for the hosts that failed, when what alternates refer to has expired', async () => {
  world.behaviour.set('h1', 'late');
  world.behaviour.set('h2', 'fails');
  world.referenceTtlMs = 1_000;
  await world.request();
  await world.clock.advance(15_000);
  // h1 timed out; h2, selected anew, failed at once and had its alternates still: but not h1, which was tried.
  expect(await attemptsOf()).toEqual(['h1 timed_out', 'h2 failed', 'h3 active']);
  const { uuid } = await world.only();
  expect([await world.claims(), world.runs()]).toEqual([[`${uuid} h3`], [`${uuid} h3`]]);
});

it('ends in ERROR when nothing is found anew, and holds nothing', async () => {
  world.behaviour.set('h1', 'late');
  world.referenceTtlMs = 1_000;
  for (const host of ['h2', 'h3']) await world.setFull(host);
  await world.request();
  await world.clock.advance(15_000);
  const { state, fault, uuid } = await world.only();
  expect([state, fault?.reason]).toEqual(['error', 'no_valid_host']);
  expect((await world.claims()).filter((claim) => claim.startsWith(uuid))).toEqual([]);
});

it('claims nothing with what is sealed for another instance', async () => {
  world.behaviour.set('h1', 'fails');
  world.placement.allocationRequests = async () => [world.allocationRequest(world.random.uuid(), 'h2')];
  await world.request();
  await world.clock.advance(1_000);
  expect((await world.only()).attempts.map(({ reason }) => reason)).toContain(
    'its allocation request is of another instance',
  );
  expect(await world.claims()).toEqual([]);
});

it('takes the place of a claim that is older than the record knows, on whichever host', async () => {
  world.behaviour.set('h1', 'late');
  await world.request();
  await world.clock.advance(10);
  const record = await world.only();
  const { uuid, claimToken = 0 } = record;
  const onH2 = world.opened(world.allocationRequest(uuid, 'h2'));
  if (onH2 === undefined) throw new Error('it can not be opened');
  const consumers = [claimWrite(onH2, { kind: 'claim', claimToken })];
  await mustCommit(world.placement, { kind: 'write_allocations', atMs: world.clock.now(), consumers });
  const older = (await world.placement.consumers([uuid]))[0]?.claimToken ?? 0;
  await world.instances.update({ ...record, claimToken: older + 5, version: record.version + 1 });
  // Each commit has a token: claims from now on are later than all before.
  for (const name of ['A', 'B', 'C', 'D', 'E']) {
    const created = {
      kind: 'create_name',
      atMs: world.clock.now(),
      catalogue: 'trait',
      name: `CUSTOM_${name}`,
    } as const;
    await mustCommit(world.placement, created);
  }
  await world.clock.advance(15_000);
  expect(await attemptsOf()).toEqual(['h1 timed_out', 'h2 active']);
  expect(await world.claims()).toEqual([`${uuid} h2`]);
});

it('passes an alternate over that was taken out of service after it was selected, and says so', async () => {
  world.behaviour.set('h1', 'late');
  await world.request();
  await world.clock.advance(1_000);
  const atMs = world.clock.now();
  const result = await world.placement.commit({
    kind: 'set_host_enabled',
    atMs,
    host: 'h2',
    enabled: false,
    reason: '',
  });
  expect(result.kind).toBe('committed');
  await world.clock.advance(12_000);
  expect(await attemptsOf()).toEqual(['h1 timed_out', 'h2 not_claimed', 'h3 active']);
  expect((await world.only()).attempts[1]?.reason).toMatch(/^host_disabled: /);
});
