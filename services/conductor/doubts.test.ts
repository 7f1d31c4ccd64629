import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { type DoubtView, listDoubtsMethod, type SettleDoubtRequest, settleDoubtMethod } from '#libs/contracts/doubts';
import { type Identity, SERVICE } from '#libs/contracts/identity';
import { BUILD_RESULTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld, providerOf } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10 });
  conductor = await world.conductor(undefined, { BERTH_CONDUCTOR_DOUBT_MS: '60000' });
});

afterEach(async () => {
  await world.closed(conductor);
});

const UNKNOWN = '00000000-0000-4000-8000-00000000abcd';

async function runs(host: string, uuid = UNKNOWN): Promise<void> {
  const unclaimed = [world.runningInstance(uuid, host, { claimToken: 9 })];
  await world.sendDiscrepancy(world.discrepancy(host, { unclaimed }));
  await world.clock.advance(100);
}

/** The answer, or the reason of the error. */
async function ask<T>(answer: Promise<T>): Promise<T | string> {
  const settled = answer.catch((error: { reason: string }) => error.reason);
  await world.clock.advance(1_000);
  return settled;
}

async function doubts(): Promise<readonly DoubtView[]> {
  const answer = await ask(
    callMethod({ bus: world.bus, queue: RPC_CONDUCTOR }, listDoubtsMethod, {}, { timeoutMs: 500 }),
  );
  if (typeof answer === 'string') throw new Error(answer);
  return answer.doubts;
}

const settle = (fields: Partial<SettleDoubtRequest>, identity: Identity = SERVICE) => {
  const request = { instanceUuid: UNKNOWN, host: 'h2', action: 'adopt', ...fields } as const;
  return ask(
    callMethod({ bus: world.openBus(identity), queue: RPC_CONDUCTOR }, settleDoubtMethod, request, { timeoutMs: 500 }),
  );
};

it('shows an instance that nobody asked for: since when, who says so, and that it is still there', async () => {
  await runs('h2');
  await world.clock.advance(10_000);
  await runs('h2');
  const [doubt, ...others] = await doubts();
  expect(others).toEqual([]);
  expect(doubt).toMatchObject({ instanceUuid: UNKNOWN, host: 'h2', finding: 'unknown_instance' });
  expect(doubt?.message).toContain("the agent of h2 says that it runs there ('web' of project 'project-1'");
  expect((doubt?.seenAtMs ?? 0) - (doubt?.sinceMs ?? 0)).toBe(10_100);
});

it('adopts it on the word of an operator, with a claim of what it uses', async () => {
  await runs('h2');
  expect(await settle({ action: 'adopt' })).toEqual({});
  expect(await world.only()).toMatchObject({ uuid: UNKNOWN, state: 'active', host: 'h2', projectId: 'project-1' });
  expect(await world.claims()).toEqual([`${UNKNOWN} h2`]);
  expect(await doubts()).toEqual([]);
  expect(world.destroys).toEqual([]);
});

it('adopts it with a claim on those of its host’s providers that it says it uses', async () => {
  const on = providerOf('h1');
  const unclaimed = [world.runningInstance(UNKNOWN, 'h2', { allocations: { [on]: { VCPU: 1 } } })];
  await world.sendDiscrepancy(world.discrepancy('h2', { unclaimed }));
  await world.clock.advance(100);
  expect(await settle({ action: 'adopt' })).toEqual({});
  expect(await world.placement.consumers([UNKNOWN])).toMatchObject([{ allocations: { [on]: { VCPU: 1 } } }]);
});

it('destroys it on the word of an operator, and nothing that is newer', async () => {
  await runs('h2');
  expect(await settle({ action: 'destroy' })).toEqual({});
  expect(world.destroys).toMatchObject([{ instanceUuid: UNKNOWN, host: 'h2', claimToken: 9 }]);
  expect(await world.all()).toEqual([]);
});

it('destroys what runs on a second host, and refuses that where the record has it', async () => {
  await world.request();
  await world.clock.advance(100);
  const { uuid: instanceUuid } = await world.only();
  await runs('h2', instanceUuid);
  expect((await doubts()).map(({ finding, host }) => [finding, host])).toEqual([['stray', 'h2']]);
  expect(await settle({ instanceUuid, action: 'adopt' })).toBe('has_record');
  expect(await settle({ instanceUuid, host: 'h1', action: 'destroy' })).toBe('no_such_doubt');
  expect(await settle({ instanceUuid, action: 'destroy' })).toEqual({});
  expect(world.destroys.map(({ host }) => host)).toEqual(['h2']);
  expect((await world.only()).state).toBe('active');
});

it.each<[string, Identity]>([
  ['a tenant', { kind: 'project', projectId: 'project-1' }],
  ['an agent', { kind: 'agent', host: 'h2', carriesOthers: false }],
])('neither shows doubts to %s nor takes its word', async (_, identity) => {
  await runs('h2');
  expect(await settle({ action: 'destroy' }, identity)).toBe('services_only');
  const bus = world.openBus(identity);
  expect(await ask(callMethod({ bus, queue: RPC_CONDUCTOR }, listDoubtsMethod, {}, { timeoutMs: 500 }))).toBe(
    'services_only',
  );
  expect(world.destroys).toEqual([]);
});

it('knows nothing of an instance that no host has reported', async () => {
  expect(await settle({ action: 'destroy' })).toBe('no_such_doubt');
});

it('shows what a report lacks, and a destruction that a silent host owes', async () => {
  await world.request();
  await world.clock.advance(100);
  const { uuid } = await world.only();
  await world.sendDiscrepancy(world.discrepancy('h1', { missing: [uuid] }));
  await world.clock.advance(100);
  await world.setUp('h1', false);
  await world.terminate(uuid);
  await world.clock.advance(100);
  expect((await doubts()).map(({ finding, instanceUuid }) => [finding, instanceUuid])).toEqual([
    ['missing', uuid],
    ['destroy_owed', uuid],
  ]);
});

it('shows a host whose agent is refused, and nothing else of that message', async () => {
  const refusal = { reason: 'host_taken', message: 'another run holds it' };
  await castTyped({ bus: world.bus, queue: BUILD_RESULTS }, hostDiscrepancyCodec, world.discrepancy('h1', { refusal }));
  await world.clock.advance(100);
  expect(await doubts()).toMatchObject([
    { instanceUuid: '', host: 'h1', finding: 'host_refused', message: 'host_taken: another run holds it' },
  ]);
});

it('shows an instance of which its host can read nothing, and leaves its record as it is', async () => {
  await world.request();
  await world.clock.advance(100);
  const { uuid, state } = await world.only();
  const instance = {
    ...world.runningInstance(uuid, 'h1'),
    running: false,
    unreadable: true,
    attempt: 0,
    claimToken: 0,
  };
  await world.sendDiscrepancy(world.discrepancy('h1', { present: [instance] }));
  await world.clock.advance(100);
  expect(await doubts()).toMatchObject([{ instanceUuid: uuid, host: 'h1', finding: 'journal_unreadable' }]);
  expect((await world.only()).state).toBe(state);
  expect(world.destroys).toEqual([]);
});

it('shows a doubt until nobody has found it for a while, and for as long as its host is down', async () => {
  await runs('h1');
  await runs('h2');
  await world.setUp('h1', true);
  await world.setUp('h2', false);
  await world.clock.advance(50_000);
  expect((await doubts()).map(({ host }) => host)).toEqual(['h1', 'h2']);
  await world.clock.advance(50_000);
  expect((await doubts()).map(({ host }) => host)).toEqual(['h2']);
});

it('shows a doubt until its host was heard without it, whatever the sweep of silent hosts has done by then', async () => {
  await runs('h2');
  await world.clock.advance(100_000);
  expect((await doubts()).map(({ host }) => host)).toEqual(['h2']);
  await world.setUp('h2', true);
  await world.clock.advance(100_000);
  expect(await doubts()).toEqual([]);
});
