import type { Channel, ConsumeMessage } from 'amqplib';
import * as fc from 'fast-check';
import { Acks } from './acks';

/** The broker's side of a channel: deliveries, and those acked. */
function aChannel() {
  const unacked = new Set<number>();
  let frames = 0;
  const channel = {
    ack({ fields: { deliveryTag } }: ConsumeMessage, isMultiple = false) {
      frames += 1;
      if (!unacked.has(deliveryTag)) throw new Error(`unknown delivery tag ${deliveryTag}`);
      for (const tag of unacked) if (tag === deliveryTag || (isMultiple && tag < deliveryTag)) unacked.delete(tag);
    },
    nack: ({ fields }: ConsumeMessage) => unacked.delete(fields.deliveryTag),
  };
  return { channel: channel as unknown as Channel, unacked, frames: () => frames };
}

const message = (deliveryTag: number) => ({ fields: { deliveryTag } }) as ConsumeMessage;

it('acks what is done, and never what is in hand, in whatever order handlers end', () => {
  const step = fc.record({ at: fc.nat(), kind: fc.constantFrom('take', 'take', 'ack', 'ack', 'requeue', 'flush') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (most) => {
      const steps = [...most, { at: 0, kind: 'flush' as const }];
      const { channel, unacked } = aChannel();
      const acks = new Acks(channel);
      const inHand: ConsumeMessage[] = [];
      const seen: number[][] = [];
      const wanted: number[][] = [];
      let tag = 0;
      for (const { at, kind } of steps) {
        if (kind === 'take') {
          const taken = message(++tag);
          unacked.add(tag);
          inHand.push(taken);
          acks.take(taken);
        } else if (kind === 'flush') {
          acks.flush();
          seen.push([...unacked]);
          wanted.push(inHand.map(({ fields }) => fields.deliveryTag));
        } else {
          const [done] = inHand.splice(at % Math.max(1, inHand.length), 1);
          if (done) acks[kind](done);
        }
      }
      expect(seen).toEqual(wanted);
    }),
  );
});

it('acks all that end in one tick with one AMQP frame', async () => {
  const { channel, unacked, frames } = aChannel();
  const acks = new Acks(channel);
  const messages = [1, 2, 3, 4].map(message);
  for (const taken of messages) {
    unacked.add(taken.fields.deliveryTag);
    acks.take(taken);
  }
  for (const done of messages.slice(0, 3)) acks.ack(done);
  expect(frames()).toBe(0);
  await new Promise(setImmediate);
  expect([...unacked]).toEqual([4]);
  expect(frames()).toBe(1);
});
