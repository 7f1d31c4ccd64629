import { ACK, type IncomingMessage } from '../../bus/port';
import { aMessage, aQueue, type BusWorld, failureOf, textOf } from './bus-world';
import { gate, Inbox } from './inbox';

const CLOSING = { code: 'unavailable', reason: 'closing' };
const TYPE = aMessage('').type;

/** Ends of subscriptions and buses. */
export function describeLife(world: () => BusWorld): void {
  it('removes a queue that nobody consumes from, with what waits there; once more is no error', async () => {
    const bus = await world().open();
    const queue = aQueue('work');
    const subscription = await bus.consume(queue, async () => ACK);
    expect(await failureOf(bus.remove(queue.name))).toMatchObject({ reason: 'queue_in_use' });
    await subscription.cancel();
    await bus.cast(queue.name, aMessage('1'));
    await bus.remove(queue.name);
    expect(await failureOf(bus.depth(queue.name))).toMatchObject({ reason: 'no_such_queue' });
    await bus.remove(queue.name);
    await bus.declare(queue);
    expect(await bus.depth(queue.name)).toBe(0);
  });

  it('cancels a subscription after its handlers have settled, and leaves the rest to others', async () => {
    const [leaver, stayer] = [await world().open(), await world().open()];
    const queue = aQueue('work');
    await leaver.declare(queue);
    for (const text of ['1', '2', '3']) await leaver.cast(queue.name, aMessage(text));
    const [started, release] = [gate(), gate()];
    const first = async () => {
      started.open();
      await release.opened;
      return ACK;
    };
    const subscription = await leaver.consume(queue, first, { prefetch: 1 });
    await started.opened;
    let isCancelled = false;
    const cancelled = subscription.cancel().then(() => {
      isCancelled = true;
    });
    const seen = new Inbox<readonly [string, boolean]>();
    await stayer.consume(queue, async ({ body, redelivered }) => {
      seen.put([textOf(body), redelivered]);
      return ACK;
    });
    expect(await seen.has(2)).toEqual([
      ['2', false],
      ['3', false],
    ]);
    expect(isCancelled).toBe(false);
    release.open();
    await cancelled;
    await leaver.close();
    expect(await stayer.depth(queue.name)).toBe(0);
  });

  it('closes after running handlers have finished, with the calls and casts that they still need', async () => {
    const [server, worker] = [await world().open(), await world().open()];
    const [questions, work, results] = [aQueue('transient'), aQueue('work'), aQueue('host')];
    await server.declare(results);
    await server.serve(questions, { [TYPE]: async ({ body }) => Buffer.from(`re: ${textOf(body)}`) });
    const [started, release] = [gate(), gate()];
    await worker.consume(work, async () => {
      started.open();
      await release.opened;
      const answer = await worker.call(questions.name, aMessage('late'), { timeoutMs: 5_000 });
      await worker.cast(results.name, aMessage(textOf(answer)));
      return ACK;
    });
    await server.cast(work.name, aMessage('x'));
    await started.opened;
    const closed = worker.close();
    release.open();
    await closed;
    const seen = new Inbox<string>();
    await server.consume(results, async ({ body }) => {
      seen.put(textOf(body));
      return ACK;
    });
    expect(await seen.has(1)).toEqual(['re: late']);
    expect(await server.depth(work.name)).toBe(0);
  });

  it('gives a message to somebody else when its consumer closes without finishing it', async () => {
    const [leaver, stayer] = [await world().open({ drainTimeoutMs: 50 }), await world().open()];
    const queue = aQueue('work');
    const aborted = gate<unknown>();
    const [started, never] = [gate(), gate()];
    await leaver.consume(queue, async ({ signal }) => {
      signal.addEventListener('abort', () => aborted.open(signal.reason));
      started.open();
      await never.opened;
      return ACK;
    });
    await stayer.cast(queue.name, aMessage('x'), { id: 'left' });
    await started.opened;
    await leaver.close();
    expect(await aborted.opened).toMatchObject(CLOSING);
    const seen = new Inbox<IncomingMessage>();
    await stayer.consume(queue, async (message) => {
      seen.put(message);
      return ACK;
    });
    const [again] = await seen.has(1);
    expect(again).toMatchObject({ id: 'left', redelivered: true });
    never.open();
  });

  it('rejects the calls that still wait when it closes, and everything afterwards', async () => {
    const bus = await world().open();
    const queue = aQueue('transient');
    await bus.declare(queue);
    expect(bus.isConnected()).toBe(true);
    const waiting = failureOf(bus.call(queue.name, aMessage('x'), { timeoutMs: 60_000 }));
    await Promise.all([bus.close(), bus.close()]);
    expect(await waiting).toEqual(CLOSING);
    expect(bus.isConnected()).toBe(false);
    const afterwards = [
      () => bus.call(queue.name, aMessage('x'), { timeoutMs: 1_000 }),
      () => bus.cast(queue.name, aMessage('x')),
      () => bus.publish('a.b', aMessage('x')),
      () => bus.consume(queue, async () => ACK),
      () => bus.serve(queue, {}),
      () => bus.subscribe('#', () => {}),
      () => bus.declare(queue),
      () => bus.depth(queue.name),
    ];
    for (const action of afterwards) expect(await failureOf(action())).toEqual(CLOSING);
  });
}
