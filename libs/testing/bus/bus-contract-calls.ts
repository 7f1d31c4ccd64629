import type { IncomingMessage } from '../../bus/port';
import { BerthError } from '../../domain/errors';
import { aMessage, aQueue, type BusWorld, errorOf, failureOf, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const TYPE = aMessage('').type;

/** Calls and their answers. */
export function describeCalls(world: () => BusWorld): void {
  it('gives the handler the message and the caller its answer', async () => {
    const [server, client] = [await world().open(), await world().open()];
    const queue = aQueue('transient');
    const seen = new Inbox<IncomingMessage>();
    await server.serve(queue, {
      [TYPE]: async (message) => {
        seen.put(message);
        return Buffer.from(textOf(message.body).toUpperCase());
      },
    });
    const options = { timeoutMs: 5_000, id: 'call-1' };
    expect(textOf(await client.call(queue.name, aMessage('ping', { sender: 'client.1' }), options))).toBe('PING');
    expect(seen.items[0]).toMatchObject({ type: TYPE, id: 'call-1', sender: 'client.1', redelivered: false });
    expect(seen.items[0]?.deadlineMs).toBeDefined();
    expect(seen.items[0]?.signal.aborted).toBe(false);
  });

  it('carries empty bodies, and gives a new id to each call that has none', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    const ids = new Inbox<string>();
    await bus.serve(queue, {
      [TYPE]: async ({ id }) => {
        ids.put(id);
        return new Uint8Array();
      },
    });
    for (const _ of [1, 2]) expect(await bus.call(queue.name, aMessage(''), { timeoutMs: 5_000 })).toHaveLength(0);
    expect(new Set(ids.items).size).toBe(2);
    expect(ids.items).not.toContain('');
  });

  it('carries the error of a handler with code, reason, message and details', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.serve(queue, {
      [TYPE]: async () => {
        throw new BerthError('failed_precondition', 'host_disabled', 'enable it first', { details: { host: 'h1' } });
      },
    });
    const error = await errorOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 5_000 }));
    expect(error).toMatchObject({
      code: 'failed_precondition',
      reason: 'host_disabled',
      message: 'enable it first',
      details: { host: 'h1' },
    });
  });

  it('answers internal when a handler throws what is no BerthError', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.serve(queue, {
      [TYPE]: () => {
        throw new TypeError('x is undefined');
      },
    });
    const error = await errorOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 5_000 }));
    expect(error).toMatchObject({ code: 'internal', reason: 'unexpected', message: 'x is undefined' });
  });

  it('answers unimplemented to a type that the server does not know, and invalid_argument to none', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.serve(queue, { [TYPE]: async () => new Uint8Array() });
    const call = (type: string) => bus.call(queue.name, aMessage('x', { type }), { timeoutMs: 5_000 });
    expect(await failureOf(call('berth.test.v9.New'))).toEqual({ code: 'unimplemented', reason: 'unknown_type' });
    expect(await failureOf(call('toString'))).toEqual({ code: 'unimplemented', reason: 'unknown_type' });
    expect(await failureOf(call(''))).toEqual({ code: 'invalid_argument', reason: 'missing_type' });
  });

  it('is unavailable at once when the queue is not there', async () => {
    const bus = await world().open();
    const call = bus.call(aQueue('transient').name, aMessage('x'), { timeoutMs: 60_000 });
    expect(await failureOf(call)).toEqual({ code: 'unavailable', reason: 'no_such_queue' });
  });

  it('is resource_exhausted when the queue is full', async () => {
    const bus = await world().open();
    const queue = aQueue('transient', { maxLength: 2 });
    await bus.declare(queue);
    const calls: Promise<unknown>[] = [];
    for (const _ of [1, 2, 3, 4, 5]) {
      calls.push(failureOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 1_000 })));
      // Calls of one turn may count as one message.
      await new Promise(setImmediate);
    }
    const failures = await Promise.all(calls);
    expect(failures).toContainEqual({ code: 'resource_exhausted', reason: 'queue_full' });
    expect(failures).toContainEqual({ code: 'deadline_exceeded', reason: 'no_answer' });
  });

  it('gives up at the deadline, tells the handler so, and drops the late answer', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    const aborted = gate<unknown>();
    const late = gate();
    await bus.serve(queue, {
      [TYPE]: async ({ signal, body }) => {
        if (textOf(body) !== 'slow') return body;
        signal.addEventListener('abort', () => aborted.open(signal.reason));
        await late.opened;
        return body;
      },
    });
    const failure = await failureOf(bus.call(queue.name, aMessage('slow'), { timeoutMs: 100 }));
    expect(failure).toEqual({ code: 'deadline_exceeded', reason: 'no_answer' });
    expect(await aborted.opened).toMatchObject({ code: 'deadline_exceeded' });
    late.open();
    expect(textOf(await bus.call(queue.name, aMessage('quick'), { timeoutMs: 5_000 }))).toBe('quick');
  });

  it('never hands out a request that expired while it waited', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    const seen = new Inbox<string>();
    const release = gate();
    const handler = async ({ body }: IncomingMessage) => {
      seen.put(textOf(body));
      if (textOf(body) === 'first') await release.opened;
      return body;
    };
    await bus.serve(queue, { [TYPE]: handler }, { prefetch: 1 });
    const first = bus.call(queue.name, aMessage('first'), { timeoutMs: 20_000 });
    await seen.has(1);
    await failureOf(bus.call(queue.name, aMessage('expires'), { timeoutMs: 50 }));
    // The broker's clock started a little later than the caller's.
    while ((await bus.depth(queue.name)) > 0);
    const third = bus.call(queue.name, aMessage('third'), { timeoutMs: 20_000 });
    release.open();
    await Promise.all([first, third]);
    expect(seen.items).toEqual(['first', 'third']);
  });

  it('stops waiting when the caller cancels, before or while it waits', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.declare(queue);
    const controller = new AbortController();
    const options = { timeoutMs: 20_000, signal: controller.signal };
    const waiting = failureOf(bus.call(queue.name, aMessage('x'), options));
    controller.abort();
    expect(await waiting).toEqual({ code: 'aborted', reason: 'cancelled' });
    expect(await failureOf(bus.call(queue.name, aMessage('x'), options))).toEqual(await waiting);
  });

  it('keeps hundreds of calls apart, over several servers', async () => {
    const servers = [await world().open(), await world().open()];
    const client = await world().open();
    const queue = aQueue('transient');
    const counts = [0, 0];
    for (const [index, server] of servers.entries()) {
      const handler = async ({ body }: IncomingMessage) => {
        counts[index] = (counts[index] ?? 0) + 1;
        return Buffer.from(`re: ${textOf(body)}`);
      };
      await server.serve(queue, { [TYPE]: handler }, { prefetch: 4 });
    }
    const texts = Array.from({ length: 400 }, (_, n) => `question ${n}`);
    const answers = await Promise.all(texts.map((t) => client.call(queue.name, aMessage(t), { timeoutMs: 20_000 })));
    expect(answers.map(textOf)).toEqual(texts.map((text) => `re: ${text}`));
    expect(Math.min(...counts)).toBeGreaterThan(50);
  });

  it.each([{}, { batching: true }])('ends calls that their servers die of (%j)', async (property) => {
    const queue = aQueue('transient', { deliveryLimit: 2, ...property });
    const [caller, never] = [await world().open(), gate()];
    await caller.declare(queue);
    const calls = ['x', 'y'].map((text) => failureOf(caller.call(queue, aMessage(text), { timeoutMs: 60_000 })));
    for (let times = 0; times < 2; times++) {
      const [server, taken] = [await world().open({ drainTimeoutMs: 0 }), new Inbox<string>()];
      const die = async ({ id }: IncomingMessage) => {
        taken.put(id);
        await never.opened;
        return new Uint8Array();
      };
      await server.serve(queue, { [TYPE]: die });
      await taken.has(2);
      await server.close();
    }
    const last = await world().open();
    await last.serve(queue, { [TYPE]: async ({ body }) => body });
    expect(await Promise.all(calls)).toEqual(
      calls.map(() => ({ code: 'resource_exhausted', reason: 'delivery_limit' })),
    );
    expect(textOf(await caller.call(queue, aMessage('z'), { timeoutMs: 5_000 }))).toBe('z');
    never.open();
  });

  it('refuses messages above the limit, on the way there and on the way back', async () => {
    const bus = await world().open({ maxMessageBytes: 2_000 });
    const queue = aQueue('transient');
    await bus.serve(queue, { [TYPE]: async ({ body }) => Buffer.alloc(body.length * 2) });
    const call = (bytes: number) => bus.call(queue.name, aMessage('x'.repeat(bytes)), { timeoutMs: 5_000 });
    expect(await call(1_000)).toHaveLength(2_000);
    expect(await failureOf(call(1_001))).toEqual({ code: 'resource_exhausted', reason: 'answer_too_large' });
    expect(await failureOf(call(2_001))).toEqual({ code: 'invalid_argument', reason: 'message_too_large' });
  });
}
