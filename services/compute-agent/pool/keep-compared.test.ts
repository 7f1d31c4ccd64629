import { MemoryBroker } from '#libs/bus/memory/broker';
import { MemoryBus } from '#libs/bus/memory/memory-bus';
import { busOptions } from '#libs/bus/options';
import { answer } from '#libs/bus/typed-calls';
import { SERVICE } from '#libs/contracts/identity';
import { readNodesMethod } from '#libs/contracts/nodes';
import { STATS } from '#libs/contracts/queues';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { seededRandom } from '#libs/domain/random';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { RememberedNode } from '../drivers/baremetal/remembered-node';
import { agentOptions } from '../options';
import { keepCompared } from './keep-compared';

const clock = fakeClock();
const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
const drain = new AbortController();
const config = readConfig(agentOptions, { BERTH_AGENT_HOST: 'metal-1' });
const FIRST = aNodeRecord({ state: 'cleaning', updatedAtMs: 1_000 });

let stored: NodeRecord;
let writes: string[];
let node: RememberedNode;
const held = new Map<string, RememberedNode>();

beforeAll(async () => {
  const broker = new MemoryBroker(clock, silentLog);
  const bus = new MemoryBus(broker, SERVICE, readConfig(busOptions, {}), around);
  await bus.serve(
    STATS,
    answer(readNodesMethod, async () => ({ nodes: [{ ...stored, serviceHost: 'metal-1' }] })),
  );
  void keepCompared({ ...around, bus, config, drainEnd: drain.signal }, held);
});
afterAll(() => drain.abort());

beforeEach(async () => {
  writes = [];
  const write = async (record: NodeRecord) => {
    writes.push(record.state);
    stored = record;
  };
  node = new RememberedNode(FIRST, write, () => clock.now());
  held.set('n1', node);
  await node.change({ state: 'active' });
});

it('writes nothing while the store remembers what its holder does', async () => {
  await clock.advance(120_000);
  expect(writes).toEqual(['active']);
});

it('writes a node again, once, when the store went back to what it was before', async () => {
  stored = FIRST;
  await clock.advance(180_000);
  expect(writes).toEqual(['active', 'active']);
  expect(stored.state).toBe('active');
});

it('leaves alone a node that is not held here any more', async () => {
  stored = FIRST;
  held.clear();
  await clock.advance(120_000);
  expect(writes).toEqual(['active']);
});
