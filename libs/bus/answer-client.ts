import { buildAcceptedCodec, buildRefusedCodec, buildRequestCodec, requestIdOf } from '../contracts/conductor';
import { refusalTopic } from '../contracts/queues';
import { BerthError, isRetryable } from '../domain/errors';
import { ACK, type Bus, drop, type IncomingMessage, POSTPONE, type Settlement } from './port';
import { castTyped } from './typed-calls';

/** Answers the client of a build request with its instances; no answer without a reply queue. Throws `unavailable`. */
export async function answerAccepted(
  bus: Bus,
  message: IncomingMessage,
  requestId: string,
  instances: readonly { readonly uuid: string }[],
): Promise<void> {
  if (message.replyTo === undefined) return;
  const answer = { requestId, instanceUuids: instances.map(({ uuid }) => uuid) };
  await castTyped({ bus, queue: message.replyTo }, buildAcceptedCodec, answer, answerOptions(message)).catch(
    clientIsGone,
  );
}

/**
 * Tells the client why its request was refused, on its queue and as an event. Throws `unavailable`.
 *
 * @param requestId  the client's id of the request
 */
export async function answerRefused(
  bus: Bus,
  message: IncomingMessage,
  requestId: string,
  error: BerthError,
): Promise<void> {
  const body = { requestId, error };
  if (message.replyTo !== undefined) {
    await castTyped({ bus, queue: message.replyTo }, buildRefusedCodec, body, answerOptions(message)).catch(
      clientIsGone,
    );
  }
  const { identity } = message;
  const topic = refusalTopic(identity.kind === 'project' ? identity.projectId : '');
  await bus.publish(topic, { type: buildRefusedCodec.type, body: buildRefusedCodec.encode(body) });
}

/**
 * Settles a refused request after telling its client. A valid request that was refused is done; one that could not be
 * handled also leaves a dead letter. While the client can't be told, the message waits in its queue.
 */
export async function settleRefused(bus: Bus, message: IncomingMessage, error: BerthError): Promise<Settlement> {
  const requestId = (message.type === buildRequestCodec.type && requestIdOf(message.body)) || message.id;
  try {
    await answerRefused(bus, message, requestId, error);
  } catch (thrown) {
    // A client that can never be told delays nothing.
    if (isRetryable(BerthError.from(thrown))) return POSTPONE;
    return drop(error);
  }
  return error.code === 'internal' || NOT_HANDLED.has(error.reason) ? drop(error) : ACK;
}

/** Reasons of unusable messages. */
const NOT_HANDLED: ReadonlySet<string> = new Set([
  'missing_type',
  'unknown_type',
  'malformed_message',
  'postponed_too_long',
]);

function answerOptions({ correlationId, id }: IncomingMessage) {
  return { correlationId: correlationId ?? id };
}

/** A client that went away does not delay its build. */
function clientIsGone(thrown: unknown): void {
  const error = BerthError.from(thrown);
  if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
}
