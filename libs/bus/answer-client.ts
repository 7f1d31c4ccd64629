import { buildAcceptedCodec, buildRefusedCodec } from '../contracts/conductor';
import { refusalTopic } from '../contracts/queues';
import { BerthError } from '../domain/errors';
import type { Bus, IncomingMessage } from './port';
import { castTyped } from './typed-calls';

/** Tells the client of a build request which instances it has. One that wants no answer gets none. Throws `unavailable`. */
export async function tellAccepted(
  bus: Bus,
  message: IncomingMessage,
  requestId: string,
  instances: readonly { readonly uuid: string }[],
): Promise<void> {
  if (message.replyTo === undefined) return;
  const answer = { requestId, instanceUuids: instances.map(({ uuid }) => uuid) };
  await castTyped(bus, message.replyTo, buildAcceptedCodec, answer, answerOptions(message)).catch(clientIsGone);
}

/**
 * Tells the client why nothing was done, on its queue and as an event. Throws `unavailable`.
 *
 * @param requestId  what it knows its request by
 */
export async function tellRefused(
  bus: Bus,
  message: IncomingMessage,
  requestId: string,
  error: BerthError,
): Promise<void> {
  const body = { requestId, error };
  if (message.replyTo !== undefined) {
    await castTyped(bus, message.replyTo, buildRefusedCodec, body, answerOptions(message)).catch(clientIsGone);
  }
  const { identity } = message;
  const topic = refusalTopic(identity.kind === 'project' ? identity.projectId : '');
  await bus.publish(topic, { type: buildRefusedCodec.type, body: buildRefusedCodec.encode(body) });
}

function answerOptions({ correlationId, id }: IncomingMessage) {
  return { correlationId: correlationId ?? id };
}

/** A client that went away does not hold up its build. */
function clientIsGone(thrown: unknown): void {
  const error = BerthError.from(thrown);
  if (error.code !== 'not_found' && error.code !== 'resource_exhausted') throw error;
}
