import { randomUUID } from 'node:crypto';
import { castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Instance } from '#libs/domain/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { TestFleet } from '../fleet/test-fleet';

/* Gangs on real servers, with mostly failing builds, while a conductor is killed. */

const GANGS = 20;
const SIZE = 4;
const LEAST = 3;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await TestFleet.start({ BERTH_AGENT_FAKE_FAILURE_RATE: '0.8', BERTH_SCHEDULER_QUARANTINE_FAILURES: '0' });
});
afterAll(() => fleet?.stop());

async function requestGangs(): Promise<Map<string, string[]>> {
  const gangs = new Map(
    Array.from({ length: GANGS }, () => [randomUUID(), Array.from({ length: SIZE }, () => randomUUID())] as const),
  );
  const requestSpec = anEncodedSpec({ resources: { VCPU: 1, MEMORY_MB: 256 } });
  await Promise.all(
    [...gangs].map(([requestId, instanceUuids]) => {
      const about = { requestId, requestSpec, count: SIZE, minCount: LEAST, name: 'gang', instanceUuids };
      return castTyped({ bus: fleet.tenant, queue: BUILD_REQUESTS }, buildRequestCodec, about, { id: requestId });
    }),
  );
  return gangs;
}

const activeOf = (members: readonly Instance[]) => members.filter(({ state }) => state === 'active');

/** Enough are ACTIVE, or all are in ERROR. */
function isKept(members: readonly Instance[]): boolean {
  const hasEnded = members.every(
    ({ state, dueAtMs }) => (state === 'active' || state === 'error') && dueAtMs === undefined,
  );
  const active = activeOf(members).length;
  return members.length === SIZE && hasEnded && (active === 0 || active >= LEAST);
}

it('brings each gang to its minimum or to nothing, when a conductor is killed in the middle', async () => {
  const gangs = await requestGangs();
  await fleet.eventually('some have failed', async () => {
    const members = await fleet.instances.get([...gangs.values()].flat());
    return members.some(({ fault }) => fault !== undefined);
  });
  await fleet.kill('conductor-1');
  fleet.launch('conductor-1');

  let ended: Instance[][] = [];
  await fleet.eventually('every gang is whole or undone', async () => {
    ended = await Promise.all([...gangs.values()].map((uuids) => fleet.instances.get(uuids)));
    return ended.filter((members) => !isKept(members)).map((members) => members.map(({ state }) => state)).length === 0;
  });
  const undone = ended.filter((members) => activeOf(members).length === 0);
  expect([undone.length > 0, undone.length < GANGS]).toEqual([true, true]);
  for (const members of undone) {
    const failed = members.filter(({ fault }) => fault?.reason !== 'gang_failed');
    expect(failed.length).toBeGreaterThan(SIZE - LEAST);
    const named = new RegExp(failed.map(({ uuid }) => uuid).join('|'));
    const told = members.filter(({ fault }) => fault?.reason === 'gang_failed').map(({ fault }) => fault?.message);
    expect(told.filter((message) => !named.test(message ?? ''))).toEqual([]);
  }
  // Running and claimed instances are the ACTIVE ones.
  expect(await fleet.problems([...gangs.values()].flat())).toEqual([]);
});
