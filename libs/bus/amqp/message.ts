import type { ConsumeMessage, Options } from 'amqplib';
import { ERROR_TYPE } from '../../contracts/error';
import { type PackedMessage, packCodec } from '../../contracts/pack';
import type { Surroundings } from '../../runtime/service';
import { Delivery } from '../delivery';

/**
 * An AMQP message as handlers get it. Whoever sent it may have left out or misused any property: what is missing reads
 * as '' or undefined, and a missing id is made up.
 */
export function deliveryOf({ content, fields, properties }: ConsumeMessage, around: Surroundings): Delivery {
  const headers: Record<string, unknown> = properties.headers ?? {};
  const expirationMs = Number(properties.expiration ?? Number.NaN);
  return new Delivery(
    {
      type: text(properties.type) ?? '',
      body: content,
      id: text(properties.messageId) ?? around.random.uuid(),
      sender: text(properties.appId) ?? '',
      replyTo: text(properties.replyTo),
      correlationId: text(properties.correlationId),
      redelivered: fields.redelivered,
      // From now on: the broker does not say how long it waited, and clocks differ. Too late is harmless, the caller
      // ignores the answer; the broker does not hand out what has expired.
      deadlineMs: Number.isFinite(expirationMs) ? around.clock.now() + expirationMs : undefined,
      headers: textHeaders(headers),
      deliveries: deliveryCountOf(headers, fields.redelivered),
    },
    around.clock,
  );
}

/** The messages of a pack, each as if it had come alone. @throws BerthError as `packCodec`. */
export function deliveriesOf(message: ConsumeMessage, around: Surroundings): readonly Delivery[] {
  const pack = deliveryOf(message, around);
  const { replyTo, redelivered, deadlineMs, headers, deliveries } = pack;
  return packCodec.decode(pack.body).map(({ type, messageId, correlationId, sender, body }) => {
    const id = messageId || around.random.uuid();
    const mark = text(correlationId);
    return new Delivery(
      { type, body, id, sender, replyTo, correlationId: mark, redelivered, deadlineMs, headers, deliveries },
      around.clock,
    );
  });
}

/** What quorum queues count, this delivery included; other queues only know of "before". */
function deliveryCountOf(headers: Record<string, unknown>, isRedelivered: boolean): number {
  const count = headers['x-delivery-count'];
  return typeof count === 'number' ? count + 1 : isRedelivered ? 2 : 1;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const NO_HEADERS = {};

/** The headers that are text. What the broker itself moved to the dead letters says why in Berth's headers, too. */
function textHeaders(headers: Record<string, unknown>): Record<string, string> {
  const entries = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  if (entries.length === 0) return NO_HEADERS;
  const texts = Object.fromEntries(entries);
  const { 'x-first-death-reason': reason, 'x-first-death-queue': queue } = texts;
  if (reason === undefined || queue === undefined) return texts;
  const buried = {
    'berth-error-code': reason === 'expired' ? 'deadline_exceeded' : 'resource_exhausted',
    'berth-error-reason': reason,
    'berth-error-message': `the broker moved it here: ${reason}`,
    'berth-queue': queue,
  };
  return { ...buried, ...texts };
}

/** The properties of a message that goes out, without those of its kind. */
export function propertiesOf({ type, messageId, correlationId, sender }: PackedMessage): Options.Publish {
  const properties: Options.Publish = { type, messageId };
  if (correlationId !== '') properties.correlationId = correlationId;
  if (sender !== '') properties.appId = sender;
  return properties;
}

/** The properties of an answer: an error says so in its type. */
export function answerProperties(
  { id, correlationId }: Pick<Delivery, 'id' | 'correlationId'>,
  type: string,
): Options.Publish {
  return {
    messageId: id,
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(type === ERROR_TYPE ? { type, headers: { 'berth-error': 'true' } } : {}),
  };
}

/** A view of the bytes as amqplib wants them; nothing is copied. */
export function bufferOf(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}
