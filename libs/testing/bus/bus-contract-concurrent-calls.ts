import * as fc from 'fast-check';
import type { Bus, IncomingMessage } from '../../bus/port';
import type { QueueSpec } from '../../contracts/queues';
import { BerthError } from '../../domain/errors';
import { aMessage, aQueue, type BusWorld, failureOf, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const TYPE = aMessage('').type;
const FAILING = 'berth.test.v1.Failing';
const UNKNOWN = 'berth.test.v1.Unknown';
const TIMEOUT_MS = 10_000;

interface Asked {
  readonly type: string;
  readonly bytes: number;
  readonly sender: string | undefined;
  readonly timeoutMs: number;
}

/** Calls of one tick to a batching queue behave like single calls. */
export function describeConcurrentCalls(world: () => BusWorld): void {
  it('answers each by itself, whatever its type, size, sender and timeout', async () => {
    const [server, client] = [await world().open(), await world().open()];
    const queue = aQueue('transient', { batching: true });
    await server.serve(queue, {
      [TYPE]: async ({ body, id, sender }) => Buffer.concat([Buffer.from(`${id} ${sender} `), body]),
      [FAILING]: async ({ id }) => {
        throw new BerthError('not_found', 'no_such_thing', id);
      },
    });
    const asked = fc.record({
      type: fc.constantFrom(TYPE, TYPE, TYPE, FAILING, UNKNOWN),
      bytes: fc.oneof({ weight: 9, arbitrary: fc.nat(300) }, fc.constantFrom(0, 100_000, 300_000)),
      sender: fc.option(fc.constantFrom('agent.1', 'agent.2'), { nil: undefined }),
      timeoutMs: fc.constantFrom(TIMEOUT_MS, TIMEOUT_MS, TIMEOUT_MS + 0.5, 2 * TIMEOUT_MS),
    });
    const answersRightly = async (calls: readonly Asked[]) => {
      const answers = calls.map(({ type, bytes, sender, timeoutMs }, n) => {
        const message = { type, body: Buffer.alloc(bytes, 'x'), ...(sender === undefined ? {} : { sender }) };
        return client.call(queue, message, { timeoutMs, id: `id-${n}` });
      });
      const expected = calls.map(({ type, bytes, sender = '' }, n) => {
        if (type === TYPE) return `id-${n} ${sender} ${'x'.repeat(bytes)}`;
        return type === FAILING ? 'not_found / no_such_thing' : 'unimplemented / unknown_type';
      });
      const outcome = (answer: Promise<Uint8Array>) =>
        answer.then(textOf, ({ code, reason }: BerthError) => `${code} / ${reason}`);
      // One toEqual over all would print megabytes of differences.
      for (const [n, text] of (await Promise.all(answers.map(outcome))).entries())
        if (text !== expected[n]) throw new Error(`call ${n}: ${text.slice(0, 100)}`);
    };
    await fc.assert(fc.asyncProperty(fc.array(asked, { maxLength: 100, size: 'max' }), answersRightly), {
      numRuns: 20,
    });
  });

  it('gives up those that are late and those that are cancelled, and no others', async () => {
    const bus = await world().open();
    const queue = aQueue('transient', { batching: true });
    const aborted = new Inbox<string>();
    const never = gate();
    await bus.serve(queue, {
      [TYPE]: async ({ body, signal }) => {
        if (textOf(body) === 'quick') return body;
        signal.addEventListener('abort', () => aborted.put(textOf(body)));
        await never.opened;
        return body;
      },
    });
    const [now, soon] = [new AbortController(), new AbortController()];
    const outcomes = [1, 2].flatMap(() => [
      bus.call(queue, aMessage('quick'), { timeoutMs: TIMEOUT_MS }).then(textOf),
      failureOf(bus.call(queue, aMessage('late'), { timeoutMs: 200 })),
      failureOf(bus.call(queue, aMessage('now'), { timeoutMs: TIMEOUT_MS, signal: now.signal })),
      bus.call(queue, aMessage('quick'), { timeoutMs: 200 }).then(textOf),
      failureOf(bus.call(queue, aMessage('soon'), { timeoutMs: TIMEOUT_MS, signal: soon.signal })),
    ]);
    now.abort();
    await Promise.all([outcomes[0], outcomes[3], outcomes[5], outcomes[8]]);
    soon.abort();
    const cancelled = { code: 'aborted', reason: 'cancelled' };
    const expected = ['quick', { code: 'deadline_exceeded', reason: 'no_answer' }, cancelled, 'quick', cancelled];
    expect(await Promise.all(outcomes)).toEqual([...expected, ...expected]);
    expect(await aborted.has(2)).toEqual(['late', 'late']);
    never.open();
  });

  it('has no more of them handled at once than the prefetch, and lets none wait for another that is slow', async () => {
    const bus = await world().open();
    const queue = aQueue('transient', { batching: true });
    const [slow, counts] = [gate(), { running: 0, most: 0 }];
    const handler = async ({ body }: IncomingMessage) => {
      counts.most = Math.max(counts.most, ++counts.running);
      await (textOf(body) === 'slow' ? slow.opened : new Promise(setImmediate));
      counts.running--;
      return body;
    };
    await bus.serve(queue, { [TYPE]: handler }, { prefetch: 4 });
    const [first, ...rest] = burst(bus, queue, ['slow', ...Array.from({ length: 99 }, () => 'quick')]);
    await Promise.all(rest);
    expect(counts).toEqual({ running: 1, most: 4 });
    slow.open();
    expect(await first).toBe('slow');
  });

  it('gives all of them to somebody else when their server goes without an answer', async () => {
    const [leaver, stayer] = [await world().open({ drainTimeoutMs: 50 }), await world().open()];
    const queue = aQueue('transient', { batching: true });
    const [started, never] = [new Inbox<string>(), gate()];
    await leaver.serve(queue, {
      [TYPE]: async ({ body }) => {
        started.put(textOf(body));
        if (textOf(body) !== 'answered') await never.opened;
        return body;
      },
    });
    const texts = Array.from({ length: 50 }, (_, n) => (n % 10 === 0 ? 'answered' : `call ${n}`));
    const answers = burst(stayer, queue, texts);
    await started.has(50);
    expect(await answers[0]).toBe('answered');
    const again = new Inbox<boolean>();
    await stayer.serve(queue, {
      [TYPE]: async ({ body, redelivered }) => {
        again.put(redelivered);
        return body;
      },
    });
    await leaver.close();
    expect(await Promise.all(answers)).toEqual(texts);
    expect(new Set(again.items)).toEqual(new Set([true]));
    never.open();
  });

  it('tells each that the queue is full, or that nobody serves it', async () => {
    const bus = await world().open();
    const queue = aQueue('transient', { batching: true, maxLength: 1 });
    await bus.declare(queue);
    const filling = failureOf(bus.call(queue, aMessage('x'), { timeoutMs: 1_000 }));
    while ((await bus.depth(queue.name)) === 0);
    const failures = (to: QueueSpec) =>
      Promise.all([1, 2, 3, 4, 5].map(() => failureOf(bus.call(to, aMessage('x'), { timeoutMs: 60_000 }))));
    const [full, missing] = await Promise.all([failures(queue), failures(aQueue('transient', { batching: true }))]);
    expect(full).toEqual(full.map(() => ({ code: 'resource_exhausted', reason: 'queue_full' })));
    expect(missing).toEqual(missing.map(() => ({ code: 'unavailable', reason: 'no_such_queue' })));
    expect(await filling).toEqual({ code: 'deadline_exceeded', reason: 'no_answer' });
  });
}

function burst(bus: Bus, queue: QueueSpec, texts: readonly string[]): Promise<string>[] {
  return texts.map((text) => bus.call(queue, aMessage(text), { timeoutMs: TIMEOUT_MS }).then(textOf));
}
