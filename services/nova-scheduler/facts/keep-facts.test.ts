import { silentLog } from '#libs/runtime/log';
import { fakeClock } from '#libs/testing/fake-clock';
import { fanoutCalls } from '../calls/fanouts';
import { recordedCall } from '../testing/recorded';
import { type KeptFacts, keepFacts } from './keep-facts';
import { type FactSource, NovaFacts, type NovaNode } from './nova-facts';

const clock = fakeClock();
const intervalMs = {
  services: 1_000,
  nodes: 10_000,
  aggregates: 10_000,
  instances: 0,
  cells: 10_000,
  hardware: 5_000,
  images: 5_000,
};
const aNode = (host: string): NovaNode => {
  const plain = { hypervisorType: 'QEMU', hypervisorVersion: 1, ioOps: 0, capabilities: {}, cellUuid: undefined };
  return { uuid: `node-${host}`, nodename: host, host, ...plain };
};

let asked: string[];
let isAway: boolean;
let facts: NovaFacts;
let kept: KeptFacts;
afterEach(() => kept.close());

function keep(source: Partial<FactSource> = {}) {
  asked = [];
  isAway = false;
  const answer =
    <T>(kind: string, value: T) =>
    async () => {
      asked.push(kind);
      if (isAway) throw new Error('away');
      return value;
    };
  const all: FactSource = {
    services: answer('services', [{ host: 'h1', isUp: true, isDisabled: false }]),
    nodes: answer('nodes', [aNode('h1')]),
    aggregates: answer('aggregates', []),
    instances: answer('instances', new Map([['h1', ['a']]])),
    ...source,
  };
  facts = new NovaFacts(clock);
  kept = keepFacts(facts, all, { intervalMs, timeoutMs: 5_000 }, { clock, log: silentLog });
}

it('reads each kind at start and then at its own interval, instances once', async () => {
  keep();
  await kept.complete;
  await clock.advance(10_500);
  const count = (kind: string) => asked.filter((one) => one === kind).length;
  expect([count('services'), count('nodes'), count('instances')]).toEqual([11, 2, 1]);
  expect([...facts.instancesOn('h1')]).toEqual(['a']);
});

it('keeps the last facts while the source is away, and knows their age', async () => {
  keep();
  await kept.complete;
  isAway = true;
  await clock.advance(30_000);
  expect(facts.service('h1')?.isUp).toBe(true);
  expect(facts.ageMs('services')).toBeGreaterThan(29_000);
  isAway = false;
  await clock.advance(3_000);
  expect(facts.ageMs('services')).toBeLessThan(3_001);
});

it('gives up a question that is not answered in time', async () => {
  keep({
    services: (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  });
  let isComplete = false;
  void kept.complete.then(() => {
    isComplete = true;
  });
  await clock.advance(6_000);
  expect(isComplete).toBe(false);
  expect(facts.nodeCount).toBe(1);
});

it('asks once for all who want a kind at the same time', async () => {
  keep();
  await kept.complete;
  asked.length = 0;
  await Promise.all([kept.refresh('nodes'), kept.refresh('nodes')]);
  expect(asked).toEqual(['nodes']);
});

it('takes a host as enabled once placement does, until services are read that were asked for later', async () => {
  let answer = () => {};
  keep({
    services: async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return [{ host: 'h1', isUp: true, isDisabled: true }];
    },
  });
  answer();
  await kept.complete;
  const askedBefore = kept.refresh('services');
  await clock.advance(1);
  facts.noteEnabled('h1');
  expect(facts.service('h1')?.isDisabled).toBe(false);
  answer();
  await askedBefore;
  expect(facts.service('h1')?.isDisabled).toBe(false);
  const askedLater = kept.refresh('services');
  answer();
  await askedLater;
  expect(facts.service('h1')?.isDisabled).toBe(true);
});

describe('fanouts', () => {
  const send = async (name: string) => {
    const call = recordedCall(name);
    await fanoutCalls(facts)[call.method]?.(call.args, call);
    return call.args;
  };

  it('change aggregates', async () => {
    keep();
    await kept.complete;
    await send('update_aggregates');
    const [aggregate] = facts.aggregates();
    expect(aggregate?.uuid).toMatch(/^[0-9a-f-]{36}$/);
    const args = await send('delete_aggregate');
    const { 'nova_object.data': data } = args['aggregate'] as { 'nova_object.data': { uuid: string } };
    expect(facts.aggregates().map(({ uuid }) => uuid)).not.toContain(data.uuid);
  });

  it('change instances of hosts that Nova knows, and of no others', async () => {
    const { host_name: host } = recordedCall('sync_instance_info').args as { host_name: string };
    keep({ nodes: async () => [aNode(host)] });
    await kept.complete;
    const { instance_uuids: uuids } = (await send('sync_instance_info')) as { instance_uuids: string[] };
    expect([...facts.instancesOn(host)]).toEqual(uuids);
    facts.putInstances(host, ['x'], false);
    facts.putInstances('made-up', ['y'], true);
    expect(facts.instancesOn(host).has('x')).toBe(true);
    expect(facts.instancesOn('made-up').size).toBe(0);
    facts.deleteInstance(host, 'x');
    expect(facts.instancesOn(host).has('x')).toBe(false);
  });
});
