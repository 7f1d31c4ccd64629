import { DEAD_LETTERS } from '#libs/bus/port';
import type { BuildReport, HostDiscrepancy } from '#libs/contracts/compute';
import { agentQueue } from '#libs/contracts/queues';
import { ConductorWorld } from './testing/conductor-world';

const HOUR_MS = 3_600_000;

type Message = BuildReport | HostDiscrepancy;

/** Messages about the instance that arrive late. */
const KINDS = [
  'a report that h1 failed',
  'a report that h1 refused',
  'a report that h1 has it active',
  'a report that h1 destroyed it',
  'a report that h2 lost an earlier one',
  'a report that h2 failed to build an earlier one',
  'a report that h2 destroyed an earlier one',
  'a report of the host that lacks it',
  'the next report of the host that lacks it',
  'a report of the host that has it without a claim',
  'a report of the host that has it',
  'a report of another host that lacks it',
  'a report that h2 has it active',
] as const;

/** An instance whose build on h1 was given up, and that is active on h2; and what was said of it on the way. */
async function aStory() {
  const world = new ConductorWorld();
  await world.open({ h1: 10, h2: 10, h3: 10 });
  const conductor = await world.conductor();
  world.behaviour.set('h1', 'late').set('h2', 'late');
  await world.request();
  await world.clock.advance(15_000);
  const { uuid } = await world.only();
  const [onH1, onH2] = world.orders;
  if (!onH1 || !onH2) throw new Error('it was not ordered twice');
  world.running.set(uuid, new Set(['h2']));
  const reportOf = (order: typeof onH1, outcome: BuildReport['outcome']): BuildReport => {
    const { instanceUuid, host, attempt, claimToken } = order;
    const what = { outcome, reason: outcome, message: '', alternates: [] };
    return { instanceUuid, host, attempt, claimToken, ...what, ...world.nextPosition(host) };
  };
  const discrepancyOf = (fields: Partial<HostDiscrepancy>) => world.discrepancy('h2', fields);
  const here = world.runningInstance(uuid, 'h2');
  const messages: Readonly<Record<(typeof KINDS)[number], Message>> = {
    'a report that h1 failed': reportOf(onH1, 'failed'),
    'a report that h1 refused': reportOf(onH1, 'refused'),
    'a report that h1 has it active': reportOf(onH1, 'active'),
    'a report that h1 destroyed it': reportOf(onH1, 'destroyed'),
    'a report that h2 lost an earlier one': reportOf({ ...onH2, claimToken: 1 }, 'lost'),
    'a report that h2 failed to build an earlier one': reportOf({ ...onH2, claimToken: 1 }, 'failed'),
    'a report that h2 destroyed an earlier one': reportOf({ ...onH2, claimToken: 1 }, 'destroyed'),
    'a report of the host that lacks it': discrepancyOf({ missing: [uuid] }),
    'the next report of the host that lacks it': discrepancyOf({ missing: [uuid] }),
    'a report of the host that has it without a claim': discrepancyOf({ unclaimed: [here] }),
    'a report of the host that has it': discrepancyOf({ present: [here] }),
    'a report of another host that lacks it': world.discrepancy('h1', { missing: [uuid] }),
    'a report that h2 has it active': reportOf(onH2, 'active'),
  };
  const send = (message: Message) =>
    'outcome' in message ? world.sendReport(message) : world.sendDiscrepancy(message);
  await send(messages['a report that h2 has it active']);
  await world.clock.advance(100);
  expect((await world.only()).state).toBe('active');
  const at = [`${uuid} h2`];
  return {
    world,
    /** The state that must hold. */
    unharmed: { state: 'active', host: 'h2', runs: at, claims: at, harmed: [] },
    messages,
    send,
    /** The state once all is settled. */
    async end() {
      await world.clock.advance(60_000);
      const { state, host } = await world.only();
      const outcome = { state, host, runs: world.runs(), claims: await world.claims(), harmed: world.harmed };
      await world.closed(conductor);
      return outcome;
    },
  };
}

type Story = Awaited<ReturnType<typeof aStory>>;

const DISTURBANCES: Readonly<Record<string, (story: Story, message: Message) => Promise<void>>> = {
  'comes late': ({ send }, message) => send(message),
  'comes twice': async ({ send }, message) => {
    await send(message);
    await send(message);
  },
  'is put back an hour later': async ({ world, send }, message) => {
    await world.clock.advance(HOUR_MS);
    await send(message);
    await send(message);
  },
  'comes after all others, in the order from back to front': async ({ messages, send }, message) => {
    for (const other of Object.values(messages).toReversed()) await send(other);
    await send(message);
  },
  'is of a holder of the host that has gone': ({ send }, message) => send({ ...message, epoch: 0 }),
};

describe.each(KINDS)('%s', (kind) => {
  it.each(Object.keys(DISTURBANCES))('that %s changes nothing', async (disturbance) => {
    const story = await aStory();
    await DISTURBANCES[disturbance]?.(story, story.messages[kind]);
    expect(await story.end()).toEqual(story.unharmed);
  });
});

it('lets an order to build that no agent takes expire, well before the record of its instance is forgotten', async () => {
  const world = new ConductorWorld();
  await world.open({ h1: 10 });
  const queue = agentQueue('rack');
  await world.carryTogether('rack', ['h1']);
  await world.bus.declare(queue);
  const conductor = await world.conductor(undefined, { BERTH_CONDUCTOR_RETENTION_MS: '100000' });
  await world.request();
  // Its deadline, and half of the retention.
  await world.clock.advance(59_000);
  const isThere = async () => [(await world.only()).state, await world.bus.depth(DEAD_LETTERS)];
  expect(await isThere()).toEqual(['error', 0]);
  await world.clock.advance(2_000);
  await world.bus.depth(queue.name);
  expect(await isThere()).toEqual(['error', 1]);
  await Promise.all([conductor.close(), world.clock.advance(1_000)]);
});
