import { ERROR_TYPE, encodeError } from '../contracts/error';
import { BerthError, invalidArgument } from '../domain/errors';
import type { Log } from '../runtime/log';
import type { BusMetrics } from './bus-metrics';
import type { Delivery } from './delivery';
import {
  type CallHandler,
  type CastHandler,
  DEAD_LETTERS,
  drop,
  type QueueSpec,
  REQUEUE,
  type Settlement,
} from './port';
import { deliveryLimit } from './refusals';

/** What an adapter can do with one message that is in hand. None of these throws: a broker that is gone gives it again. */
export interface Hand {
  ack(): void;
  requeue(): void;
  /** To the dead letters, then acked. */
  drop(error: BerthError): Promise<void>;
  /** Sends an answer to the message's `replyTo`; its type is '' or that of an error. */
  reply(type: string, body: Uint8Array): void;
}

export interface HandlingOptions {
  readonly queue: QueueSpec;
  readonly log: Log;
  readonly metrics: BusMetrics;
  readonly maxMessageBytes: number;
}

/** Runs the handler of a cast and settles the message as it says. Never rejects. */
export async function handleCast(
  delivery: Delivery,
  hand: Hand,
  handler: CastHandler,
  options: HandlingOptions,
): Promise<void> {
  const settlement = withinDeliveryLimit(await settlementOf(delivery, handler, options), delivery, options.queue);
  delivery.finish();
  switch (settlement.kind) {
    case 'ack':
      return hand.ack();
    case 'requeue':
      return hand.requeue();
    case 'drop':
      // A dead letter that is dropped is gone; it must not come round again.
      if (options.queue.name === DEAD_LETTERS) return hand.ack();
      return await bury(delivery, hand, settlement.error, options);
  }
}

/** Logs, counts and drops. Never rejects. */
export function bury({ type, id }: Delivery, hand: Hand, error: BerthError, options: HandlingOptions): Promise<void> {
  options.log.warn({ queue: options.queue.name, type, id, error }, 'dropped to dead-letters');
  options.metrics.deadLetters.inc({ reason: error.reason });
  return hand.drop(error);
}

async function settlementOf(
  delivery: Delivery,
  handler: CastHandler,
  { queue, log, metrics }: HandlingOptions,
): Promise<Settlement> {
  // Whoever reads the dead letters reads those, too, that are dead because they have no type.
  if (delivery.type === '' && queue.name !== DEAD_LETTERS) return drop(missingType());
  try {
    return await handler(delivery);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const { type, id, redelivered } = delivery;
    metrics.handlerFailures.inc();
    log.error({ type, id, redelivered, error }, 'the handler of a message threw');
    return redelivered ? drop(error) : REQUEUE;
  }
}

/** Only `work` queues count deliveries; the broker's own limit is behind this one, for processes that die with it. */
function withinDeliveryLimit(settlement: Settlement, delivery: Delivery, queue: QueueSpec): Settlement {
  const isLast = queue.kind === 'work' && delivery.deliveries >= (queue.deliveryLimit ?? Infinity);
  return settlement.kind === 'requeue' && isLast ? drop(deliveryLimit(delivery.deliveries)) : settlement;
}

/** Runs the handler of a call, answers, and acks. A request whose caller is gone is acked unanswered. Never rejects. */
export async function handleCall(
  delivery: Delivery,
  hand: Hand,
  handlers: ReadonlyMap<string, CallHandler>,
  options: HandlingOptions,
): Promise<void> {
  if (delivery.replyTo === undefined) return await bury(delivery, hand, missingReplyTo(), options);
  if (delivery.isExpired) return hand.ack();
  try {
    const body = await answerOf(delivery, handlers);
    delivery.finish();
    if (!delivery.isExpired) reply(hand, body, options);
  } catch (thrown) {
    delivery.finish();
    const error = BerthError.from(thrown);
    if (error.code === 'internal') reportDefect(delivery, error, options);
    if (!delivery.isExpired) hand.reply(ERROR_TYPE, encodeError(error));
  }
  hand.ack();
}

function reportDefect({ type, id }: Delivery, error: BerthError, { log, metrics }: HandlingOptions): void {
  metrics.handlerFailures.inc();
  log.error({ type, id, error }, 'the handler of a call threw');
}

function answerOf(delivery: Delivery, handlers: ReadonlyMap<string, CallHandler>): Promise<Uint8Array> {
  const handler = handlers.get(delivery.type);
  if (handler !== undefined) return handler(delivery);
  if (delivery.type === '') throw missingType();
  throw new BerthError(
    'unimplemented',
    'unknown_type',
    `nothing here answers '${delivery.type}'; it answers ${[...handlers.keys()].join(', ') || 'nothing'}`,
  );
}

function reply(hand: Hand, body: Uint8Array, { maxMessageBytes }: HandlingOptions): void {
  if (body.length <= maxMessageBytes) return hand.reply('', body);
  const message = `the answer of ${body.length} bytes is above the limit of ${maxMessageBytes}; ask for less`;
  hand.reply(ERROR_TYPE, encodeError(new BerthError('resource_exhausted', 'answer_too_large', message)));
}

function missingType(): BerthError {
  return invalidArgument('missing_type', "a message must carry its full protobuf name in the property 'type'", 'type');
}

function missingReplyTo(): BerthError {
  return invalidArgument('missing_reply_to', "a call must name its queue for answers in 'reply_to'", 'reply_to');
}
