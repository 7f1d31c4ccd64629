import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import type { InstanceEvent } from '#libs/contracts/instance';
import type { MigrationPhase } from '#libs/domain/moves/migration';
import { AGENTS, CONDUCTORS, SCHEDULERS, TestFleet } from '../fleet/test-fleet';

/* Everybody is killed at each phase of moves: each move ends, its client is told how, and one copy is left, where its record has it. */

const EVERYBODY = [...SCHEDULERS, ...CONDUCTORS, ...AGENTS];
const LIMIT = { timeoutMs: 90_000 };
const TO = { resizeTo: { resources: { VCPU: 2, MEMORY_MB: 256 } } };

let fleet: TestFleet;
let operator: Client;
beforeAll(async () => {
  fleet = await TestFleet.start({
    BERTH_AGENT_FAKE_FAILURE_RATE: '0',
    BERTH_AGENT_FAKE_LATENCY_MS: '300',
    BERTH_AGENT_FAKE_COPY_MS: '300',
    BERTH_CONDUCTOR_BUILD_TIMEOUT_MS: '30000',
    BERTH_CONDUCTOR_POWER_TIMEOUT_MS: '3000',
    // Longer than all of them take to start: no host is down.
    BERTH_SCHEDULER_HOST_TIMEOUT_MS: '30000',
  });
  const url = fleet.credentials.brokerUrl('operator', fleet.brokerPort);
  operator = await connect({ url, timeoutMs: 3_000, retryForMs: LIMIT.timeoutMs });
});
afterAll(async () => {
  await operator?.close();
  await fleet?.stop();
});

/** Kills everybody as soon as one of these instances is in a phase of its move, and starts all again; false when none came to it. */
async function killAt(phase: MigrationPhase, uuids: readonly string[], signal: AbortSignal): Promise<boolean> {
  for await (const { instanceUuid } of operator.events({}, signal)) {
    if (!uuids.includes(instanceUuid)) continue;
    const [record] = await fleet.instances.get([instanceUuid]);
    if (record?.migration?.phase !== phase) continue;
    await Promise.all(EVERYBODY.map((name) => fleet.kill(name)));
    for (const name of EVERYBODY) fleet.launch(name);
    return true;
  }
  return false;
}

type Move = 'live_migrate' | 'migrate' | 'resize';

/** Resolves to the end of a move that its client is told. */
async function ended(uuid: string, move: Move, decision: 'confirm' | 'revert'): Promise<InstanceEvent> {
  const arrived = await operator.operateAndWait(uuid, move, move === 'resize' ? { ...TO, ...LIMIT } : LIMIT);
  return arrived.state === 'verify_resize' ? operator.operateAndWait(uuid, decision, LIMIT) : arrived;
}

const MOVES: readonly Move[] = ['live_migrate', 'migrate', 'resize'];
const PHASES = [
  ['handing_over', 'confirm'],
  ['arriving', 'confirm'],
  ['confirming', 'confirm'],
  ['leaving', 'revert'],
  ['returning', 'revert'],
] as const;

it.each(PHASES)('ends all moves when everybody is killed at %s', async (phase, decision) => {
  const uuids = await fleet.request(MOVES.length);
  await fleet.atRest(uuids);
  const over = new AbortController();
  const killed = killAt(phase, uuids, over.signal);
  const told = await Promise.all(MOVES.map((move, n) => ended(uuids[n] ?? '', move, decision)));
  over.abort();
  expect(await killed).toBe(true);
  expect(await fleet.problems(uuids)).toEqual([]);
  const views = await Promise.all(uuids.map((uuid) => operator.instance(uuid)));
  const now = views.map(({ uuid, state, host, migration }) => ({ uuid, state, host, migration }));
  expect(now).toEqual(
    told.map(({ instanceUuid: uuid, host }) => ({ uuid, state: 'active', host, migration: undefined })),
  );
});
