import { randomUUID } from 'node:crypto';
import { aMessage, type BusWorld, textOf } from './bus-world';
import { Inbox } from './inbox';

/** Events by topic. */
export function describeEvents(world: () => BusWorld): void {
  it('tells everyone whose pattern matches, with the topic', async () => {
    const [speaker, listener] = [await world().open(), await world().open()];
    const scope = randomUUID();
    const heard = new Inbox<string>();
    for (const pattern of ['*.p1.*', '#', 'active.#', 'active.p1.u1', 'error.*']) {
      await listener.subscribe(`${scope}.${pattern}`, (topic, message) => {
        heard.put(`${pattern} heard ${topic.slice(scope.length + 1)} ${textOf(message.body)}`);
      });
    }
    await speaker.publish(`${scope}.active.p1.u1`, aMessage('A', { sender: 'c' }));
    await speaker.publish(`${scope}.error.p2.u2`, aMessage('B'));
    await speaker.publish(scope, aMessage('C'));
    expect([...(await heard.has(6))].sort()).toEqual([
      '# heard  C',
      '# heard active.p1.u1 A',
      '# heard error.p2.u2 B',
      '*.p1.* heard active.p1.u1 A',
      'active.# heard active.p1.u1 A',
      'active.p1.u1 heard active.p1.u1 A',
    ]);
  });

  it('keeps the order of one speaker', async () => {
    const bus = await world().open();
    const topic = randomUUID();
    const heard = new Inbox<string>();
    await bus.subscribe(topic, (_, { body }) => heard.put(textOf(body)));
    const texts = Array.from({ length: 300 }, (_, n) => String(n));
    await Promise.all(texts.map((text) => bus.publish(topic, aMessage(text))));
    expect(await heard.has(300)).toEqual(texts);
  });

  it('publishes into the void without complaint', async () => {
    const bus = await world().open();
    await expect(bus.publish(randomUUID(), aMessage('x'))).resolves.toBeUndefined();
  });

  it('goes on when a listener throws, and no longer tells one that has cancelled', async () => {
    const bus = await world().open();
    const topic = randomUUID();
    const heard = new Inbox<string>();
    const cancelled = await bus.subscribe(topic, (_, { body }) => heard.put(`cancelled ${textOf(body)}`));
    await bus.subscribe(topic, () => {
      throw new Error('a listener that breaks');
    });
    await bus.subscribe(topic, (_, { body }) => heard.put(textOf(body)));
    await cancelled.cancel();
    for (const text of ['1', '2']) await bus.publish(topic, aMessage(text));
    expect(await heard.has(2)).toEqual(['1', '2']);
  });
}
