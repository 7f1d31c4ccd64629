import { answer } from '#libs/bus/typed-calls';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { HOST_LEASES } from '#libs/contracts/queues';
import { AgentWorld } from '../testing/agent-world';

const REPORT_MS = 10_000;
const SETTINGS = { REPORT_INTERVAL_MS: String(REPORT_MS), REPORT_JITTER: '0', REPORT_TIMEOUT_MS: '500' };

let world: AgentWorld;
/** Hosts of each call to conductors. */
let asked: (readonly string[])[] = [];
/** The epoch that conductors answer with; 0: not renewed. */
let epoch = 1;

beforeEach(async () => {
  world = new AgentWorld();
  [asked, epoch] = [[], 1];
  await world.bus.serve(
    HOST_LEASES,
    answer(acquireHostsMethod, async ({ hosts }) => {
      asked.push(hosts);
      return { grants: hosts.map(() => ({ epoch, holderRun: '', holderServiceHost: '', heldForMs: 0 })), atMs: 0 };
    }),
  );
});

afterEach(() => world.close());

/** An agent whose schedulers went away that long ago. */
async function withoutSchedulers(forMs: number): Promise<void> {
  const schedulers = await world.serveStats();
  await world.takeResults();
  await world.start(SETTINGS);
  await world.clock.advance(REPORT_MS);
  expect(asked).toEqual([]);
  await schedulers.cancel();
  await world.clock.advance(forMs);
}

it('lets an agent take orders for as long as its schedulers are away', async () => {
  await withoutSchedulers(3_600_000);
  await world.build();
  await world.clock.advance(5_000);
  expect(world.outcomes()).toEqual(['1 active']);
});

it('asks conductors only for hosts whose reports nobody accepted for half a lease, and no more once one is', async () => {
  await withoutSchedulers(60_000);
  expect(asked.at(-1)).toEqual(['h1']);
  await world.serveStats();
  await world.clock.advance(2 * REPORT_MS);
  const count = asked.length;
  await world.clock.advance(60_000);
  expect(asked).toHaveLength(count);
});

it.each([
  ['another epoch', 2],
  ['no epoch', 0],
])('takes no orders by an answer with %s', async (_what, answered) => {
  epoch = answered;
  await withoutSchedulers(60_000);
  await world.build();
  await world.clock.advance(5_000);
  expect(world.outcomes()).toEqual([]);
});
