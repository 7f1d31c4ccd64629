import type { ConsumeMessage } from 'amqplib';
import { seededRandom } from '../../../domain/random';
import { type Log, silentLog } from '../../../runtime/log';
import { LINES_PER_SENDER, senderLog } from '../../../runtime/sender-log';
import { fakeClock } from '../../../testing/fake-clock';
import type { Acks } from './acks';
import { frameCodec, framedMessage } from './frame';
import { FrameReader } from './frame-reader';

it('writes a bounded number of lines about messages that the broker never takes back', async () => {
  const clock = fakeClock();
  const lines: object[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void lines.push(fields) };
  let tries = 0;
  const putBack = async () => {
    tries++;
    throw new Error('may not publish');
  };
  const reader = new FrameReader(putBack, { clock, log, random: seededRandom(1) } as never, senderLog(log, clock));
  const message = framedMessage({ type: 'a', messageId: 'one' }, Buffer.from('body'));
  const properties = { type: frameCodec.type, headers: {} };
  const frame = {
    content: Buffer.from(frameCodec.encode([message])),
    properties,
    fields: { redelivered: false, exchange: '', routingKey: 'q' },
  };
  const acks = { isLost: false, ack() {}, requeue() {} } as unknown as Acks;
  reader.read(frame as unknown as ConsumeMessage, acks, (_delivery, { requeue }) => {
    void requeue();
    return true;
  });
  for (let n = 0; n < 50; n++) await clock.advance(500);
  expect(tries).toBeGreaterThan(LINES_PER_SENDER * 3);
  expect(lines).toHaveLength(LINES_PER_SENDER);
});
