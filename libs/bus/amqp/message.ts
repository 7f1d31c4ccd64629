import type { ConsumeMessage, Options } from 'amqplib';
import { ERROR_TYPE } from '../../contracts/error';
import { type Identity, isRestricted, userOf } from '../../contracts/identity';
import type { BerthError } from '../../domain/errors';
import type { RuntimeDeps } from '../../runtime/service';
import { Delivery } from '../handling/delivery';
import { cellOfMessage, isOfService, isPrivateQueueOf, originOf } from './origin';

/** Deliveries before the adapter republished the message. Internal to the adapter; callers never see it. */
export const DELIVERIES_HEADER = 'berth-deliveries';

/** When the message was first postponed, in ms since 1970; `true` from older versions. */
export const POSTPONED_HEADER = 'berth-postponed';

/**
 * An AMQP message in the form for handlers. Its sender may have omitted or misused any property: a missing one reads as
 * '' or undefined, and a missing id is generated.
 */
export function deliveryOf(message: ConsumeMessage, around: RuntimeDeps, defect?: BerthError): Delivery {
  const { content, fields, properties } = message;
  const headers: Record<string, unknown> = properties.headers ?? {};
  const expirationMs = Number(properties.expiration ?? Number.NaN);
  const own = isOfService(message) ? headers : {};
  const deliveriesBefore = deliveriesBeforeOf({ ...own, 'x-delivery-count': headers['x-delivery-count'] }, fields);
  const postponed = own[POSTPONED_HEADER];
  const identity = originOf(message);
  return new Delivery(
    {
      type: text(properties.type) ?? '',
      body: content,
      id: text(properties.messageId) ?? around.random.uuid(),
      sender: text(properties.appId) ?? '',
      identity,
      replyTo: ownQueue(text(properties.replyTo), identity, cellOfMessage(fields)),
      correlationId: text(properties.correlationId),
      redelivered: deliveriesBefore > 0 || postponed === true || countOf(postponed) > 0,
      postponedAtMs: countOf(postponed) || undefined,
      // Counted from now: the broker does not report how long a message waited, and clocks differ. A late answer is
      // harmless, since the caller ignores it, and the broker does not deliver expired messages.
      deadlineMs: Number.isFinite(expirationMs) ? around.clock.elapsed() + expirationMs : undefined,
      headers: textHeaders(headers),
      deliveries: deliveriesBefore + 1,
      isGivenBack: fields.redelivered,
      defect,
    },
    around.clock,
  );
}

/**
 * Quorum queues count deliveries, other queues only flag redelivery; a republished message carries its own count.
 * Anyone may set either header: a negative count, or `NaN`, would hide deliveries, and one without a redelivery would have work done again.
 */
function deliveriesBeforeOf(headers: Record<string, unknown>, { redelivered }: ConsumeMessage['fields']): number {
  const { 'x-delivery-count': counted, [DELIVERIES_HEADER]: published } = headers;
  return (redelivered ? Math.max(countOf(counted), 1) : 0) + countOf(published);
}

function countOf(header: unknown): number {
  return Number.isSafeInteger(header) ? Math.max(0, header as number) : 0;
}

/**
 * The reply queue, if its sender may read it: services never answer into another user's queue, such as one of a user
 * whose name begins with the sender's.
 */
function ownQueue(replyTo: string | undefined, identity: Identity, cell: string): string | undefined {
  if (!isRestricted(identity) || replyTo === undefined) return replyTo;
  return isPrivateQueueOf(userOf(identity, cell), replyTo) ? replyTo : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const NO_HEADERS = {};

/** The text headers. For messages that the broker dead-lettered, Berth's headers carry the reason too. */
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

/** Properties common to all kinds of messages. */
export function outgoingProperties(
  type: string,
  messageId: string,
  appId: string | undefined,
  correlationId: string | undefined,
): Options.Publish {
  const properties: Options.Publish = { type, messageId };
  if (correlationId) properties.correlationId = correlationId;
  if (appId) properties.appId = appId;
  return properties;
}

/** The properties of an answer; an error is marked in its type. */
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

/** RabbitMQ closes the channel above this expiration. */
const MAX_EXPIRATION_MS = 2_147_483_647;

/** The `expiration` property for a remaining time in milliseconds. */
export function expirationOf(leftMs: number): number {
  return Math.min(Math.max(0, Math.ceil(leftMs)), MAX_EXPIRATION_MS);
}

/** A Buffer view of the bytes for amqplib, without a copy. */
export function bufferOf(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/** Limit of AMQP's short strings. */
export const MAX_PROPERTY_BYTES = 255;

/**
 * Properties cut to AMQP's limits, for forwarding a message unchanged otherwise. (Invalid UTF-8 grows when decoded, and
 * a message from a frame had no limit.)
 */
export function cutProperties(properties: Options.Publish): Options.Publish {
  const { type, messageId, correlationId, appId, replyTo } = properties;
  const texts = Object.entries({ type, messageId, correlationId, appId, replyTo });
  const tooLong = texts.filter(([, value]) => Buffer.byteLength(value ?? '') > MAX_PROPERTY_BYTES);
  if (tooLong.length === 0) return properties;
  return { ...properties, ...Object.fromEntries(tooLong.map(([name, value]) => [name, cut(value ?? '')])) };
}

function cut(value: string): string {
  // A character cut in two becomes one of three bytes.
  return Buffer.from(value)
    .subarray(0, MAX_PROPERTY_BYTES - 3)
    .toString();
}
