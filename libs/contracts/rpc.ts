import type { Bus, CallHandler, CallOptions, CastOptions, IncomingMessage } from '../bus/port';
import { BerthError } from '../domain/errors';

/** How one message type becomes bytes and comes back. `decode` throws `invalid_argument` for what is malformed. */
export interface Codec<T> {
  /** Full protobuf name. */
  readonly type: string;
  encode(value: T): Uint8Array;
  decode(body: Uint8Array): T;
}

/** A question and its answer. */
export interface Method<Q, A> {
  readonly request: Codec<Q>;
  readonly response: Codec<A>;
}

/** Calls a method on whoever serves `queue`. Errors as `Bus.call`. */
export async function callMethod<Q, A>(
  bus: Bus,
  queue: string,
  method: Method<Q, A>,
  request: Q,
  options: CallOptions & { readonly sender?: string },
): Promise<A> {
  const { sender, ...callOptions } = options;
  const message = {
    type: method.request.type,
    body: method.request.encode(request),
    ...(sender === undefined ? {} : { sender }),
  };
  return method.response.decode(await bus.call(queue, message, callOptions));
}

/** One entry for `Bus.serve`: decodes, answers, encodes. */
export function answer<Q, A>(
  method: Method<Q, A>,
  handle: (request: Q, message: IncomingMessage) => Promise<A>,
): Record<string, CallHandler> {
  return {
    [method.request.type]: async (message) =>
      method.response.encode(await handle(method.request.decode(message.body), message)),
  };
}

/** Casts a typed message. Errors as `Bus.cast`. */
export function castTyped<T>(
  bus: Bus,
  queue: string,
  codec: Codec<T>,
  value: T,
  options: CastOptions & { readonly sender?: string } = {},
): Promise<void> {
  const { sender, ...castOptions } = options;
  return bus.cast(
    queue,
    { type: codec.type, body: codec.encode(value), ...(sender === undefined ? {} : { sender }) },
    castOptions,
  );
}

/** The error of a cast whose type nobody here knows. */
export function unknownType(message: IncomingMessage): BerthError {
  return new BerthError('unimplemented', 'unknown_type', `nothing here handles messages of type '${message.type}'`);
}
