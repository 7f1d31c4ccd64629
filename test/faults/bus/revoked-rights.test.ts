import { systemClock } from '#libs/runtime/system';
import { freePort } from '#libs/testing/servers/server-process';
import { CLOSE_CONNECTIONS, changePassword, deleteQueue, revokeRights } from '../fleet/broker-control';
import { printFigure } from '../fleet/figures';
import { AGENTS, CONDUCTORS, SCHEDULERS, TestFleet } from '../fleet/test-fleet';

/* Somebody takes away, while all work, what the broker lets them do, or the queues of agents: all goes on once it is there again. */

const BUILDS = 20;
const ports = new Map<string, number>();
let fleet: TestFleet;
beforeAll(async () => {
  for (const name of [...SCHEDULERS, ...CONDUCTORS, ...AGENTS]) ports.set(name, await freePort());
  const settings = { BERTH_AGENT_FAKE_FAILURE_RATE: '0' };
  fleet = await TestFleet.start(settings, { rabbitmq: {}, httpPorts: ports });
});
afterAll(() => fleet?.stop());

async function isReady(name: string): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${ports.get(name)}/readyz`)).status === 200;
}

/** Starts builds, some of which end again while the fault lasts. */
async function someBuilds() {
  const before = await fleet.request(BUILDS);
  await fleet.atRest(before);
  return {
    before,
    async more() {
      const after = await fleet.request(BUILDS);
      await fleet.terminate(before.slice(0, BUILDS / 4));
      return [...before, ...after];
    },
  };
}

const giveBack = () =>
  `{ok, Text} = file:read_file("${fleet.credentials.definitionsFile}"), ok = rabbit_definitions:import_raw(Text)`;

it.each([
  ['scheduler', SCHEDULERS],
  ['conductor', CONDUCTORS],
  ['service-host.agent-a', ['agent-a']],
] as const)(
  'says that it is not ready while %s may do nothing, loses nothing, and goes on when it may',
  async (user, names) => {
    const builds = await someBuilds();
    const { virtualHost } = fleet.credentials;
    expect(Number(await fleet.rabbitmq.eval(revokeRights(user, virtualHost)))).toBeGreaterThan(0);
    const all = await builds.more();
    await fleet.eventually(`${names.join(' and ')} are not ready`, async () => {
      return !(await Promise.all(names.map(isReady))).includes(true);
    });
    // For longer than the channel needs to open again.
    for (let n = 0; n < 20; n++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await Promise.all(names.map(isReady))).toEqual(names.map(() => false));
    }
    await fleet.rabbitmq.eval(giveBack());
    const startedMs = systemClock().elapsed();
    expect(await fleet.problems(all)).toEqual([]);
    printFigure(`${user} may do nothing for a while`, { right: systemClock().elapsed() - startedMs });
    for (const name of names) await fleet.eventually(`${name} is ready`, () => isReady(name));
  },
);

it('says that the broker refuses its password while that is another, and goes on when it is its own', async () => {
  const builds = await someBuilds();
  await fleet.rabbitmq.eval(changePassword('conductor', 'another'));
  await fleet.rabbitmq.eval(CLOSE_CONNECTIONS);
  const all = await builds.more();
  for (const name of CONDUCTORS) {
    await fleet.eventually(`${name} says why it is not ready`, async () => {
      const said = await fetch(`http://127.0.0.1:${ports.get(name)}/readyz`);
      return said.status === 503 && (await said.text()).includes('refuses the user or the password');
    });
  }
  await fleet.rabbitmq.eval(giveBack());
  expect(await fleet.problems(all)).toEqual([]);
  for (const name of CONDUCTORS) await fleet.eventually(`${name} is ready`, () => isReady(name));
});

it('has the queues of agents again that somebody deleted, and loses no order', async () => {
  const builds = await someBuilds();
  for (const name of AGENTS) await fleet.rabbitmq.eval(deleteQueue(`agent.${name}`, fleet.credentials.virtualHost));
  const startedMs = systemClock().elapsed();
  const all = await builds.more();
  expect(await fleet.problems(all)).toEqual([]);
  printFigure('the order queues of agents are deleted', { right: systemClock().elapsed() - startedMs });
  const attempts = (await fleet.instances.get(all)).flatMap((one) => one.attempts);
  expect(attempts.filter(({ outcome }) => outcome !== 'active')).toEqual([]);
});
