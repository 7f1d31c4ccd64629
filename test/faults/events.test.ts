import { eventGaps } from '#libs/testing/instances/event-gaps';
import { EventListener } from './fleet/event-listener';
import { TestFleet } from './fleet/test-fleet';

const BUILDS = 300;

let fleet: TestFleet;
let listener: EventListener;
beforeAll(async () => {
  fleet = await TestFleet.start({}, { rabbitmq: {} });
  listener = await EventListener.start(fleet.credentials.brokerUrl('operator', fleet.brokerPort));
});
afterAll(async () => {
  await listener?.close();
  await fleet?.stop();
});

const conductors = {
  kill: () => Promise.all(['conductor-1', 'conductor-2'].map((name) => fleet.kill(name))),
  launch: () => ['conductor-1', 'conductor-2'].forEach((name) => fleet.launch(name)),
};
const broker = {
  kill: () => fleet.rabbitmq.kill('SIGKILL'),
  launch: () => fleet.rabbitmq.restart(),
};

/**
 * Builds, of which a third is terminated as soon as a quarter is there; whatever `strike` breaks comes back. Resolves, once all
 * is told, to what is wrong with the fleet.
 */
async function buildAndTerminate(strike: () => Promise<void>): Promise<string[]> {
  const uuids = await fleet.request(BUILDS);
  await fleet.atRest(uuids, BUILDS / 4);
  const terminated = uuids.slice(0, BUILDS / 3);
  await fleet.terminate(terminated);
  await strike();
  const problems = await fleet.problems(uuids);
  await fleet.eventually('the terminated are deleted', async () => {
    const states = (await fleet.instances.get(terminated)).map(({ state }) => state);
    return states.every((state) => state === 'deleted') || states;
  });
  const instances = await fleet.instances.get(uuids);
  await fleet.eventually('every version was heard of, in order', async () => {
    const own = new Set(uuids);
    // Tests before this one have built on the same fleet.
    const gaps = eventGaps(
      listener.events.filter(({ instanceUuid }) => own.has(instanceUuid)),
      instances,
    );
    return gaps.length === 0 || gaps;
  });
  await fleet.eventually('nothing waits to be published', async () => {
    const { instanceCount } = await fleet.instances.scanOutbox(0, async () => {});
    return instanceCount === 0 || instanceCount;
  });
  return problems;
}

it.each([
  ['the conductors are', [conductors]],
  ['RabbitMQ is', [broker]],
  ['RabbitMQ and then the conductors are', [broker, conductors]],
])(
  'tells every state of every instance, in order, when %s killed in the middle of builds and terminations',
  async (_, victims) => {
    const strike = async () => {
      for (const victim of victims) await victim.kill();
      for (const victim of victims) await victim.launch();
    };
    expect(await buildAndTerminate(strike)).toEqual([]);
  },
);
