import type { Codec, Method } from '../contracts/codec';
import type { QueueAddress } from '../contracts/queues';
import { BerthError } from '../domain/errors';
import type { Bus, CallHandler, CallOptions, CastOptions, IncomingMessage } from './port';

/** The queue of a call or a cast, on a bus. */
export interface On {
  readonly bus: Bus;
  readonly queue: QueueAddress;
}

/** Calls a method on a server of `queue`. Errors as in `Bus.call`. */
export async function callMethod<Q, A>(
  { bus, queue }: On,
  method: Method<Q, A>,
  request: Q,
  options: CallOptions & { readonly sender?: string },
): Promise<A> {
  const message = { type: method.request.type, body: method.request.encode(request), sender: options.sender };
  return method.response.decode(await bus.call(queue, message, options));
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

/** Casts a typed message. Errors as in `Bus.cast`. */
export function castTyped<T>(
  { bus, queue }: On,
  codec: Codec<T>,
  value: T,
  options: CastOptions & { readonly sender?: string } = {},
): Promise<void> {
  return bus.cast(queue, { type: codec.type, body: codec.encode(value), sender: options.sender }, options);
}

/** The error of a cast of an unknown type. */
export function unknownType(message: IncomingMessage): BerthError {
  return new BerthError('unimplemented', 'unknown_type', `this service handles no messages of type '${message.type}'`);
}
