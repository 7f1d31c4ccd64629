import { type BerthError, invalidArgument } from '../domain/errors';

/** A call or a cast as oslo.messaging sends it, taken out of its envelope. */
export interface OsloRequest {
  readonly method: string;
  /** `4.5`; 1.0 when the sender names none. */
  readonly version: string;
  readonly namespace: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  /** The caller's request context: `user_id`, `project_id`, `request_id`, ... */
  readonly context: Readonly<Record<string, unknown>>;
  readonly uniqueId: string | undefined;
  /** Undefined for a cast: nobody waits for an answer. */
  readonly replyTo: ReplyAddress | undefined;
}

/** The address of a caller that waits for an answer. */
export interface ReplyAddress {
  readonly queue: string;
  readonly messageId: string;
  /** The caller gives up when it hears nothing for so long, seconds; undefined when it expects no heartbeats. */
  readonly monitorTimeoutS: number | undefined;
}

/** The envelope's own version; the minor may be newer than this one. */
const ENVELOPE_VERSION = '2.0';
const CONTEXT_PREFIX = '_context_';
/** Queue names of AMQP are at most so long. */
const MAX_NAME_BYTES = 255;

/**
 * Takes a message out of its envelope.
 *
 * @throws BerthError `invalid_argument / bad_envelope`: not JSON, of another envelope version, without a method, or with a
 *   field of another type
 */
export function readRequest(body: Uint8Array): OsloRequest {
  const outer = recordOf(jsonOf(Buffer.from(body).toString('utf8')), 'the message');
  const version = textOf(outer['oslo.version'], 'oslo.version');
  if (version.split('.')[0] !== ENVELOPE_VERSION.split('.')[0]) throw badEnvelope(`oslo.version is ${version}`);
  const inner = recordOf(jsonOf(textOf(outer['oslo.message'], 'oslo.message')), 'oslo.message');
  return {
    method: textOf(inner['method'], 'method'),
    version: inner['version'] === undefined ? '1.0' : textOf(inner['version'], 'version'),
    namespace: optionalText(inner['namespace'], 'namespace'),
    args: inner['args'] === undefined ? {} : recordOf(inner['args'], 'args'),
    context: contextOf(inner),
    uniqueId: optionalText(inner['_unique_id'], '_unique_id'),
    replyTo: replyAddressOf(inner),
  };
}

/** The envelope of a request, for clients. */
export function writeRequest(request: Omit<OsloRequest, 'context'> & Partial<Pick<OsloRequest, 'context'>>): Buffer {
  const { method, version, namespace, args, uniqueId, replyTo, context = {} } = request;
  const own = Object.fromEntries(Object.entries(context).map(([name, value]) => [CONTEXT_PREFIX + name, value]));
  const answered = replyTo && {
    _msg_id: replyTo.messageId,
    _reply_q: replyTo.queue,
    _timeout: replyTo.monitorTimeoutS ?? null,
  };
  return enclose({ method, version, namespace, args, _unique_id: uniqueId, ...answered, ...own });
}

/** The content of an answer. `isLast` is false for a heartbeat, which says only that the call is being worked on. */
export interface OsloReply {
  readonly messageId: string;
  readonly uniqueId: string;
  readonly result: unknown;
  /** A serialized exception (`remote-error.ts`). */
  readonly failure: string | undefined;
  readonly isLast: boolean;
}

export function writeReply({ messageId, uniqueId, result, failure, isLast }: OsloReply): Buffer {
  const fields = { result: result ?? null, failure: failure ?? null, ending: isLast };
  return enclose({ ...fields, _msg_id: messageId, _unique_id: uniqueId });
}

/** @throws BerthError `invalid_argument / bad_envelope` */
export function readReply(body: Uint8Array): OsloReply {
  const outer = recordOf(jsonOf(Buffer.from(body).toString('utf8')), 'the message');
  const inner = recordOf(jsonOf(textOf(outer['oslo.message'], 'oslo.message')), 'oslo.message');
  return {
    messageId: textOf(inner['_msg_id'], '_msg_id'),
    uniqueId: textOf(inner['_unique_id'], '_unique_id'),
    result: inner['result'] ?? undefined,
    failure: optionalText(inner['failure'], 'failure'),
    isLast: inner['ending'] === true,
  };
}

function enclose(message: object): Buffer {
  return Buffer.from(JSON.stringify({ 'oslo.version': ENVELOPE_VERSION, 'oslo.message': JSON.stringify(message) }));
}

function contextOf(inner: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(inner).filter(([name]) => name.startsWith(CONTEXT_PREFIX));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(CONTEXT_PREFIX.length), value]));
}

function replyAddressOf(inner: Readonly<Record<string, unknown>>): ReplyAddress | undefined {
  const messageId = optionalText(inner['_msg_id'], '_msg_id');
  const queue = optionalText(inner['_reply_q'], '_reply_q');
  if (messageId === undefined && queue === undefined) return undefined;
  if (messageId === undefined || queue === undefined) throw badEnvelope('_msg_id and _reply_q go together');
  if (Buffer.byteLength(queue) > MAX_NAME_BYTES) throw badEnvelope('_reply_q is too long');
  const timeoutS = inner['_timeout'] ?? undefined;
  if (timeoutS !== undefined && typeof timeoutS !== 'number') throw badEnvelope('_timeout is not a number');
  return { queue, messageId, monitorTimeoutS: timeoutS !== undefined && timeoutS > 0 ? timeoutS : undefined };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badEnvelope('it is not JSON');
  }
}

function recordOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw badEnvelope(`${name} is not an object`);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw badEnvelope(`${name} is not a text`);
}

function optionalText(value: unknown, name: string): string | undefined {
  return value === undefined || value === null ? undefined : textOf(value, name);
}

function badEnvelope(why: string): BerthError {
  return invalidArgument('bad_envelope', `not a message of oslo.messaging: ${why}`);
}
