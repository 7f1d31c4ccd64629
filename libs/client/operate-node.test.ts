import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { type NodeView, operateNodeCodec } from '#libs/contracts/nodes';
import { agentQueue } from '#libs/contracts/queues';
import type { LastOrder } from '#libs/domain/nodes/node';
import { seededRandom } from '#libs/domain/random';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { operateNode } from './operate-node';

const clock = fakeClock();
let bus: Bus;
let node: NodeView;

beforeEach(async () => {
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  bus = await openBus({ busUrl: 'memory:' }, around, new MemoryBroker(clock, silentLog));
  node = { ...aNodeRecord({ updatedAtMs: 7 }), serviceHost: 'metal-1' };
});
afterEach(() => bus.close());

/** An agent that changes the node, one change after the other, for each order. */
async function agentThat(...changes: Partial<NodeView>[]): Promise<void> {
  await bus.consume(agentQueue('metal-1'), async ({ body }) => {
    operateNodeCodec.decode(body);
    for (const [n, change] of changes.entries()) {
      clock.after(n * 200, () => {
        node = { ...node, updatedAtMs: node.updatedAtMs + 1, ...change };
      });
    }
    return ACK;
  });
}

const orderOf = (fields: Partial<LastOrder>): Pick<NodeView, 'lastOrder'> => ({
  lastOrder: {
    verb: 'reboot',
    restsOnUpdatedAtMs: 7,
    begunAtMs: 1,
    outcome: 'begun',
    reason: '',
    message: '',
    ...fields,
  },
});

async function reboot() {
  const parts = { bus, clock, timeoutMs: 2_000, show: async () => [node] };
  const rebooted = operateNode(parts, 'n1', { verb: 'reboot' });
  const settled = rebooted.then(
    ({ lastOrder }) => lastOrder?.outcome,
    ({ code, reason, message }) => `${code} ${reason} ${message}`,
  );
  await clock.advance(3_000);
  return settled;
}

it('resolves when the order is done, not when it has begun', async () => {
  await agentThat(orderOf({}), orderOf({ outcome: 'done' }));
  expect(await reboot()).toBe('done');
});

it('fails with the reason for which the order failed', async () => {
  await agentThat(orderOf({}), orderOf({ outcome: 'failed', reason: 'controller_away', message: 'no route to bmc-7' }));
  expect(await reboot()).toBe('failed_precondition controller_away no route to bmc-7');
});

it.each([
  ['something else', { isOn: true }],
  ["another operator's order", orderOf({ verb: 'power_off', outcome: 'done' })],
  ['an order that rests on what came later', orderOf({ restsOnUpdatedAtMs: 8, outcome: 'done' })],
])('says that the node has changed, by %s: the agent leaves the order alone', async (_, change) => {
  await agentThat(change);
  expect(await reboot()).toMatch(/^failed_precondition node_changed /);
});

it('does not say that an order is done which an agent has begun, and nobody has ended', async () => {
  await agentThat(orderOf({}));
  expect(await reboot()).toMatch(/^deadline_exceeded node_not_operated /);
});
