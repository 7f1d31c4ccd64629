import { randomUUID } from 'node:crypto';
import { MemoryBroker } from '#libs/bus/memory/broker';
import { openBus } from '#libs/bus/open';
import { ACK, type Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { type AskHost, askHostCodec } from '#libs/contracts/compute';
import { explainInstanceMethod } from '#libs/contracts/diagnosis';
import { agentQueue, RPC_SCHEDULER, STATS } from '#libs/contracts/queues';
import { type AnswerHostRequest, answerHostMethod, selectDestinationsMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { Mirror } from '#libs/placement/mirror/mirror';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { aReport } from '#libs/testing/placement/placement';
import { schedulerOptions } from '../options';
import { startScheduler } from '../start';

/** An agent's behaviour when it is asked: it answers as its host, or lies about that. */
type Behaviour = (ask: AskHost, say: (answer: Partial<AnswerHostRequest>) => Promise<unknown>) => Promise<void>;

const CONFIRM_TIMEOUT_MS = 500;
const confirms: Behaviour = async (_, say) => void (await say({}));
const refuses: Behaviour = async (_, say) => void (await say({ reason: 'insufficient_vcpu', message: 'full' }));
const isSilent: Behaviour = async () => {};

let cell: Awaited<ReturnType<typeof aCell>>;
afterEach(() => cell.close());

/** Two schedulers, either of which takes any answer; the first host has the most capacity. */
async function aCell(behaviours: Readonly<Record<string, Behaviour>>, env: Readonly<Record<string, string>> = {}) {
  const clock = fakeClock();
  const around = () => ({ clock, random: seededRandom(3), log: silentLog, metrics: createMetrics({}) });
  const broker = new MemoryBroker(clock, silentLog);
  const placement = new MemoryPlacementStore();
  const opened: { close(): Promise<void> }[] = [];
  const openAs = async (busUrl: string): Promise<Bus> => {
    const bus = await openBus({ busUrl }, around(), broker);
    opened.push(bus);
    return bus;
  };
  const asked: string[] = [];
  const refusals: string[] = [];
  const names = Object.keys(behaviours);
  for (const [n, host] of names.entries()) {
    const providerUuid = `a0000000-0000-4000-8000-00000000000${n}`;
    const inventories = { VCPU: inventory(64 - 8 * n), MEMORY_MB: inventory(16_384) };
    await placement.reportHost(aReport({ host, providerUuid, atMs: clock.now(), inventories }));
    const agent = await openAs(`memory://agent.${host}@broker`);
    await (await openAs('memory:')).declare(agentQueue(host));
    await agent.consume(agentQueue(host), async ({ type, body }) => {
      expect(type).toBe(askHostCodec.type);
      const ask = askHostCodec.decode(body);
      asked.push(ask.host);
      const say = (answer: Partial<AnswerHostRequest>) => {
        const said = { askId: ask.askId, host: ask.host, epoch: ask.epoch, reason: '', message: '', ...answer };
        return callMethod({ bus: agent, queue: STATS }, answerHostMethod, said, { timeoutMs: 60_000 }).catch(
          (thrown: unknown) => {
            refusals.push(BerthError.from(thrown).reason);
          },
        );
      };
      void behaviours[host]?.(ask, say);
      return ACK;
    });
  }
  for (let n = 0; n < 2; n++) {
    const bus = await openAs('memory:');
    const mirror = await Mirror.open(placement, around());
    // The first host has the most capacity and is asked first: no random draw.
    const config = { ...readConfig(schedulerOptions, env), hostSubsetSize: 1, confirmTimeoutMs: CONFIRM_TIMEOUT_MS };
    const scheduler = await startScheduler({ ...around(), bus, placement, mirror, config });
    opened.unshift(scheduler, mirror);
  }
  const scheduler = { bus: await openAs('memory:'), queue: RPC_SCHEDULER };
  return {
    clock,
    placement,
    asked,
    refusals,
    async select(count = 1, confirmsHost = true) {
      const instanceUuids = Array.from({ length: count }, () => randomUUID());
      const about = { requestId: randomUUID(), instanceUuids, numAlternates: 2, confirmsHost };
      const request = { ...about, requestSpec: anEncodedSpec({ resources: { VCPU: 4 } }) };
      const options = { timeoutMs: 60_000 };
      const selecting = callMethod(scheduler, selectDestinationsMethod, request, options);
      const over = { is: false };
      const end = () => {
        over.is = true;
      };
      void selecting.then(end, end);
      for (let step = 0; step < 1_000 && !over.is; step++) await clock.advance(10);
      const response = await selecting;
      const hosts = response.destinations.map(({ selected }) => selected.host);
      const held = await placement.consumers(instanceUuids);
      return { response, hosts, held, instanceUuids };
    },
    explain: (instanceUuid: string) =>
      callMethod(scheduler, explainInstanceMethod, { instanceUuid }, { timeoutMs: 60_000 }),
    async close() {
      for (const one of opened) await one.close();
    },
  };
}

it('answers with the host that confirms, asked once for each instance there, and not where nobody asks for it', async () => {
  cell = await aCell({ h1: confirms });
  const { hosts, held } = await cell.select();
  expect([hosts, held.length, cell.asked]).toEqual([['h1'], 1, ['h1']]);
  await cell.select(1, false);
  expect(cell.asked).toEqual(['h1']);
});

it('takes the next host, not an alternate, when one refuses, and tells in the decision which and why', async () => {
  cell = await aCell({ h1: refuses, h2: confirms });
  const { response, hosts, held, instanceUuids } = await cell.select();
  expect(hosts).toEqual(['h2']);
  expect(held).toHaveLength(1);
  expect(response.destinations[0]?.alternates.map(({ host }) => host)).toEqual([]);
  await cell.clock.advance(1_000);
  const { decision } = await cell.explain(instanceUuids[0] ?? '');
  expect(decision.unconfirmed).toEqual([{ host: 'h1', reason: 'insufficient_vcpu', message: 'full' }]);
  expect((await cell.placement.hosts(['h1']))[0]).toMatchObject({ failuresInARow: 0, failures: expect.any(Number) });
});

it('leaves no claim, and says which host refused and why, when none is left', async () => {
  cell = await aCell({ h1: refuses, h2: refuses });
  const { response, held, instanceUuids } = await cell.select(3);
  expect([response.destinations, held]).toEqual([[], []]);
  expect(response.noValidHost?.filters).toContainEqual({
    filter: 'confirmation',
    refused: expect.any(Number),
    reasons: { host_unconfirmed: expect.any(Number) },
  });
  await cell.clock.advance(1_000);
  const { decision } = await cell.explain(instanceUuids[0] ?? '');
  expect(decision.unconfirmed?.map(({ reason }) => reason)).toContain('insufficient_vcpu');
});

it('takes silence for a refusal, within the bound, and ignores an answer that comes later', async () => {
  let sayLate = async (): Promise<unknown> => undefined;
  const answersLate: Behaviour = async (_, say) => {
    sayLate = () => say({});
  };
  cell = await aCell({ h1: answersLate });
  const startedAtMs = cell.clock.now();
  const { response, held, instanceUuids } = await cell.select();
  expect([response.destinations, held]).toEqual([[], []]);
  expect(cell.clock.now() - startedAtMs).toBeLessThan(3 * CONFIRM_TIMEOUT_MS);
  expect(await sayLate()).toEqual({ isAwaited: false });
  expect(await cell.placement.consumers(instanceUuids)).toEqual([]);
});

it('refuses an agent that answers for another host, by its own name or by the other one', async () => {
  const asks: string[] = [];
  const answersForOther: Behaviour = async ({ askId }, say) => {
    asks.push(askId);
    await say({ host: 'h2' });
  };
  const repeats: Behaviour = async (_, say) => {
    // The id of another host's question is not accepted.
    for (const askId of asks) expect(await say({ askId })).toEqual({ isAwaited: false });
    await say({ reason: 'insufficient_vcpu' });
    expect(await say({})).toEqual({ isAwaited: false });
  };
  cell = await aCell({ h1: answersForOther, h2: repeats });
  const { response, held } = await cell.select(2);
  expect([response.destinations, held]).toEqual([[], []]);
  expect(cell.refusals).toContain('wrong_host');
});

it('asks no more hosts than its bound says, however many refuse', async () => {
  const behaviours = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`h${n}`, refuses]));
  cell = await aCell(behaviours, { BERTH_SCHEDULER_CONFIRM_HOSTS: '2' });
  const { response } = await cell.select();
  expect(cell.asked).toHaveLength(2);
  expect(response.noValidHost?.summary).toMatch(
    /^after 2 rounds: 2 did not confirm the claim \(host_unconfirmed\), the last for insufficient_vcpu: full$/,
  );
});

it('holds a host that is silent and one that confirms apart: the whole request is placed, or nothing of it', async () => {
  cell = await aCell({ h1: isSilent, h2: confirms, h3: confirms });
  const { hosts, held } = await cell.select(4);
  expect(hosts).not.toContain('h1');
  expect(held).toHaveLength(4);
});
