import { instanceEventCodec } from '#libs/contracts/instance';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { silentLog } from '#libs/runtime/log';
import { fakeClock } from '#libs/testing/fake-clock';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { outboxOf } from '#libs/testing/instances/outbox-contract';
import { eventPublisher } from './publish-events';

interface Sent {
  readonly version: number;
  readonly confirm: () => void;
  readonly refuse: () => void;
}

/** A publisher on a broker whose confirms the test gives. */
async function openPublisher() {
  const clock = fakeClock();
  const store = memoryInstanceStore(clock);
  const sent: Sent[] = [];
  const publish = (_topic: string, { body }: { readonly body: Uint8Array }) =>
    new Promise<void>((resolve, reject) => {
      const { version } = instanceEventCodec.decode(body);
      sent.push({ version, confirm: resolve, refuse: () => reject(new Error('refused')) });
    });
  const events = eventPublisher({ publish } as never, store, silentLog);
  const first = anInstance();
  await store.create(first.requestId, [first]);
  return {
    events,
    first,
    sent,
    settle: () => clock.advance(0),
    write: async (next: Instance) => (await store.update(next)).unpublished,
    waiting: async () => (await outboxOf(store)).flat().map(({ version }) => version),
  };
}

const versionsOf = (sent: readonly Sent[]) => sent.map(({ version }) => version);

it('sends a version when the one before it is confirmed, and each once', async () => {
  const { events, first, sent, settle, write, waiting } = await openPublisher();
  const publishing = [events.publish([first])];
  await settle();
  const second = nextVersion(first, { state: 'building' });
  publishing.push(events.publish(await write(second)));
  publishing.push(events.publish(await write(nextVersion(second, { state: 'active' }))));
  await settle();
  expect(versionsOf(sent)).toEqual([1]);
  for (let n = 0; n < 3; n++) {
    sent[n]?.confirm();
    await settle();
  }
  expect(versionsOf(sent)).toEqual([1, 2, 3]);
  expect([await Promise.all(publishing), await waiting()]).toEqual([[true, true, true], []]);
});

it('sends nothing after what was refused, which stays in the outbox with all that comes after', async () => {
  const { events, first, sent, settle, write, waiting } = await openPublisher();
  const second = nextVersion(first, { state: 'building' });
  await write(second);
  const publishing = events.publish(await write(nextVersion(second, { state: 'active' })));
  await settle();
  sent[0]?.confirm();
  await settle();
  sent[1]?.refuse();
  expect(await publishing).toBe(false);
  expect([versionsOf(sent), await waiting()]).toEqual([
    [1, 2],
    [2, 3],
  ]);
});

it('is idle once all that is under way is out of the outbox', async () => {
  const { events, first, sent, settle, waiting } = await openPublisher();
  void events.publish([first]);
  await settle();
  const idle = events.idle();
  sent[0]?.confirm();
  await idle;
  expect(await waiting()).toEqual([]);
});

it('gives up an event that no broker can carry, and publishes what comes after it', async () => {
  const store = memoryInstanceStore(fakeClock());
  const sent: number[] = [];
  const logged: object[] = [];
  const publish = async (topic: string, { body }: { readonly body: Uint8Array }) => {
    const { version } = instanceEventCodec.decode(body);
    if (version === 1) throw new BerthError('invalid_argument', 'topic_too_long', `${topic} is too long`);
    sent.push(version);
  };
  const log = { ...silentLog, error: (fields: object) => void logged.push(fields) };
  const events = eventPublisher({ publish } as never, store, log);
  const first = anInstance();
  await store.create(first.requestId, [first]);
  expect(await events.publish([first])).toBe(true);
  const { unpublished } = await store.update(nextVersion(first, {}));
  expect(await events.publish(unpublished)).toBe(true);
  expect(sent).toEqual([2]);
  expect(await outboxOf(store)).toEqual([]);
  expect(logged).toMatchObject([{ event: 'event_given_up', instance_uuid: first.uuid }]);
});
