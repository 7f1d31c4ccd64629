import { ERROR_TYPE, encodeError } from '../../contracts/error';
import { nameOf } from '../../contracts/identity';
import { refusalOfMessage } from '../../contracts/message-rules';
import type { QueueSpec } from '../../contracts/queues';
import { BerthError, invalidArgument } from '../../domain/errors';
import type { SenderLog } from '../../runtime/sender-log';
import { deliveryLimit, postponedTooLong } from '../errors';
import {
  type CallHandler,
  type CastHandler,
  drop,
  isDeadLetters,
  REQUEUE,
  type RefusalHandler,
  type Settlement,
} from '../port';
import type { BusMetrics } from './bus-metrics';
import type { Delivery } from './delivery';
import { traceAnswer, traceHandling } from './trace-messages';

/** An adapter's actions on a message. None of them throws or rejects: a broker that is gone redelivers the message. */
export interface MessageActions {
  readonly ack: () => void;
  /** Settles when the broker has it again. */
  readonly requeue: () => void | Promise<void>;
  /** Republishes it at the end of its queue, then acks it. */
  readonly postpone: () => Promise<void>;
  /** Dead-letters it, then acks it. */
  readonly drop: (error: BerthError) => Promise<void>;
  /** Republishes it with its delivery count, for queues that do not count, then acks it. */
  readonly recount: () => Promise<void>;
  /** Sends an answer to the message's `replyTo`; the type is '' or an error's. */
  readonly reply: (type: string, body: Uint8Array) => void;
}

export interface HandlingOptions {
  readonly queue: QueueSpec;
  readonly log: SenderLog;
  readonly metrics: BusMetrics;
  readonly maxMessageBytes: number;
  readonly maxPostponedMs: number;
  /** Settles casts refused before decoding; default: dead-letter them. */
  readonly refused?: RefusalHandler | undefined;
}

/** Handles a message completely. Never rejects. */
export type Handle = (delivery: Delivery, actions: MessageActions) => Promise<void>;

/** Runs the handler of casts and settles each message with its result. */
export function handleCasts(handler: CastHandler, options: HandlingOptions): Handle {
  return (delivery, actions) => handleCast(delivery, actions, handler, options);
}

/** Runs the handler for each call's type, answers, and acks. A request whose caller is gone is acked unanswered. */
export function handleCalls(handlers: Readonly<Record<string, CallHandler>>, options: HandlingOptions): Handle {
  const table = new Map(Object.entries(handlers));
  return (delivery, actions) => handleCall(delivery, actions, table, options);
}

async function handleCast(
  delivery: Delivery,
  actions: MessageActions,
  handler: CastHandler,
  options: HandlingOptions,
): Promise<void> {
  const limit = deliveryLimitOf(options.queue);
  const defect = defectOf(delivery, options.queue);
  if (defect !== undefined) return await bury(delivery, actions, defect, options);
  // The broker dead-letters above its own limit, but does not count deliveries from before a republication.
  if (delivery.deliveries > limit + 1) return await bury(delivery, actions, deliveryLimit(limit + 1), options);
  const refusal = castRefusalOf(delivery, options);
  const handle = refusal === undefined ? handler : (message: Delivery) => refuse(message, refusal, options);
  const settlement = await withinBounds(await settlementOf(delivery, handle, options), delivery, options);
  delivery.finish();
  switch (settlement.kind) {
    case 'ack':
      return actions.ack();
    case 'requeue':
      return await actions.requeue();
    case 'postpone':
      return await actions.postpone();
    case 'drop':
      // A dropped dead letter is gone; it must not loop.
      if (isDeadLetters(options.queue.name)) return actions.ack();
      return await bury(delivery, actions, settlement.error, options);
  }
}

/** True when a message reaches no handler, as known without decoding it. */
export function isRefused(delivery: Delivery, options: Pick<HandlingOptions, 'queue' | 'maxMessageBytes'>): boolean {
  if (isDeadLetters(options.queue.name)) return false;
  return defectOf(delivery, options.queue) !== undefined || refusalOf(delivery, options) !== undefined;
}

/** The defect that keeps a message from its handler. Dead letters are always read. */
function defectOf({ defect, identity }: Delivery, { name }: QueueSpec): BerthError | undefined {
  if (defect !== undefined || identity.kind !== 'nobody' || isDeadLetters(name)) return defect;
  const message =
    'the broker does not vouch for its sender: an agent or a tenant must set user_id and publish by its exchange';
  return new BerthError('permission_denied', 'unknown_sender', message);
}

function bury(
  { type, id, identity }: Delivery,
  actions: MessageActions,
  error: BerthError,
  options: HandlingOptions,
): Promise<void> {
  const fields = { event: 'bus_message_dead_lettered', queue: options.queue.name, type, id, error };
  options.log.warn(nameOf(identity), fields, 'message dead-lettered');
  options.metrics.deadLetters.inc({ reason: error.reason });
  return actions.drop(error);
}

/** The refusal of a cast for its type, sender or size. Dead letters are always read. */
function castRefusalOf(delivery: Delivery, options: HandlingOptions): BerthError | undefined {
  if (isDeadLetters(options.queue.name)) return undefined;
  return delivery.type === '' ? missingType() : refusalOf(delivery, options);
}

function refusalOf(
  { type, identity, body }: Delivery,
  { maxMessageBytes }: Pick<HandlingOptions, 'maxMessageBytes'>,
): BerthError | undefined {
  return refusalOfMessage(type, identity, body.length, maxMessageBytes);
}

async function refuse(delivery: Delivery, error: BerthError, options: HandlingOptions): Promise<Settlement> {
  const { queue, log, metrics, refused } = options;
  const { type, id, identity } = delivery;
  metrics.refused.inc({ reason: error.reason });
  log.warn(nameOf(identity), { event: 'bus_message_refused', queue: queue.name, type, id, error }, 'message refused');
  return refused === undefined ? drop(error) : refused(delivery, error);
}

async function settlementOf(
  delivery: Delivery,
  handler: (delivery: Delivery) => Promise<Settlement>,
  { queue, log, metrics }: HandlingOptions,
): Promise<Settlement> {
  try {
    return await traceHandling(queue.name, delivery, () => handler(delivery));
  } catch (thrown) {
    const error = BerthError.from(thrown);
    const { type, id, redelivered, identity } = delivery;
    const fields = { event: 'bus_cast_handler_threw', type, id, redelivered, error };
    metrics.handlerFailures.inc();
    log.error(nameOf(identity), fields, 'the handler of a cast threw');
    return redelivered ? drop(error) : REQUEUE;
  }
}

/**
 * Bounds requeues and postponements. The broker's own delivery limit is a little higher, for messages whose processes
 * die.
 */
async function withinBounds(settlement: Settlement, delivery: Delivery, options: HandlingOptions): Promise<Settlement> {
  const { deliveries, postponedForMs } = delivery;
  if (settlement.kind === 'requeue' && deliveries >= deliveryLimitOf(options.queue))
    return drop(deliveryLimit(deliveries));
  if (settlement.kind !== 'postpone') return settlement;
  options.metrics.postponed.observe(postponedForMs / 1_000);
  if (postponedForMs < options.maxPostponedMs) return settlement;
  const error = postponedTooLong(postponedForMs);
  const refused = await refuse(delivery, error, options);
  return refused.kind === 'postpone' ? drop(error) : refused;
}

function deliveryLimitOf(queue: QueueSpec): number {
  return queue.deliveryLimit ?? Infinity;
}

async function handleCall(
  delivery: Delivery,
  actions: MessageActions,
  handlers: ReadonlyMap<string, CallHandler>,
  options: HandlingOptions,
): Promise<void> {
  const defect = defectOf(delivery, options.queue);
  if (defect !== undefined) return await bury(delivery, actions, defect, options);
  if (delivery.replyTo === undefined) return await bury(delivery, actions, missingReplyTo(), options);
  if (delivery.isExpired) return expire(actions, options, 'unread');
  // Its consumer died, or returned it unanswered, and brokers do not count that for a call queue. (On other queues
  // the flag is forged.)
  if (delivery.isGivenBack && options.queue.kind !== 'work') return await actions.recount();
  const refusal = callRefusalOf(delivery, options);
  if (refusal !== undefined) {
    const { type, id, identity } = delivery;
    options.metrics.refused.inc({ reason: refusal.reason });
    options.log.warn(
      nameOf(identity),
      { event: 'bus_call_refused', queue: options.queue.name, type, id, error: refusal },
      'call refused',
    );
    actions.reply(ERROR_TYPE, encodeError(refusal));
    return actions.ack();
  }
  try {
    const body = await traceAnswer(options.queue.name, delivery, async () => answerOf(delivery, handlers));
    delivery.finish();
    if (delivery.isExpired) return expire(actions, options, 'answered_late');
    reply(actions, body, options);
  } catch (thrown) {
    delivery.finish();
    const error = BerthError.from(thrown);
    if (error.code === 'internal') reportDefect(delivery, error, options);
    if (delivery.isExpired) return expire(actions, options, 'answered_late');
    actions.reply(ERROR_TYPE, encodeError(error));
  }
  actions.ack();
}

/** Ends a call whose caller no longer waits. */
function expire(actions: MessageActions, { metrics }: HandlingOptions, reason: 'unread' | 'answered_late'): void {
  metrics.expired.inc({ reason });
  actions.ack();
}

/** A call with too many deliveries ends with an answer: it may be the cause of its consumers' deaths. */
function callRefusalOf(delivery: Delivery, options: HandlingOptions): BerthError | undefined {
  const limit = deliveryLimitOf(options.queue);
  if (delivery.deliveries > limit) return deliveryLimit(limit);
  return delivery.type === '' ? missingType() : refusalOf(delivery, options);
}

function reportDefect({ type, id, identity }: Delivery, error: BerthError, { log, metrics }: HandlingOptions): void {
  metrics.handlerFailures.inc();
  log.error(nameOf(identity), { event: 'bus_call_handler_threw', type, id, error }, 'the handler of a call threw');
}

function answerOf(delivery: Delivery, handlers: ReadonlyMap<string, CallHandler>): Promise<Uint8Array> {
  const handler = handlers.get(delivery.type);
  if (handler !== undefined) return handler(delivery);
  throw new BerthError(
    'unimplemented',
    'unknown_type',
    `this service does not answer '${delivery.type}'; it answers ${[...handlers.keys()].join(', ') || 'nothing'}`,
  );
}

function reply(actions: MessageActions, body: Uint8Array, { maxMessageBytes }: HandlingOptions): void {
  if (body.length <= maxMessageBytes) return actions.reply('', body);
  const message = `the answer of ${body.length} bytes is above the limit of ${maxMessageBytes}; ask for less`;
  actions.reply(ERROR_TYPE, encodeError(new BerthError('resource_exhausted', 'answer_too_large', message)));
}

function missingType(): BerthError {
  return invalidArgument('missing_type', "a message must carry its full protobuf name in the property 'type'", 'type');
}

function missingReplyTo(): BerthError {
  return invalidArgument('missing_reply_to', "a call must name its queue for answers in 'reply_to'", 'reply_to');
}
