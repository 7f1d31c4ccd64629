import { boundedText } from '../domain/naming/bounded-text';

/** An exception of Python's that the caller raises at its end, if it allows exceptions of the module. */
export class RemoteError extends Error {
  /** `NoValidHost` */
  readonly className: string;
  /** `nova.exception` */
  readonly module: string;
  /** Keywords of its constructor; the message is its one positional argument. */
  readonly kwargs: Readonly<Record<string, unknown>>;

  constructor(className: string, module: string, message: string, kwargs: Readonly<Record<string, unknown>> = {}) {
    super(boundedText(message));
    this.name = className;
    this.className = className;
    this.module = module;
    this.kwargs = kwargs;
  }
}

/** The caller asks in a version that this server does not speak. */
export function unsupportedVersion(version: string, method: string): RemoteError {
  const message = `Endpoint does not support RPC version ${version}. Attempted method: ${method}`;
  return new RemoteError('UnsupportedVersion', DISPATCHER, message);
}

export function noSuchMethod(method: string): RemoteError {
  return new RemoteError('NoSuchMethod', DISPATCHER, `Endpoint does not support RPC method ${method}`);
}

const DISPATCHER = 'oslo_messaging.rpc.dispatcher';

/** An exception as oslo.messaging carries it: JSON text. Without a traceback, which Nova would show in a server's fault. */
export function serializeFailure({ className, module, message, kwargs }: RemoteError): string {
  return JSON.stringify({ class: className, module, message, tb: [], args: [message], kwargs });
}

/** The exception of an answer, for clients. */
export function deserializeFailure(text: string): RemoteError {
  const read = JSON.parse(text) as { class: string; module: string; message: string; kwargs: Record<string, unknown> };
  return new RemoteError(read.class, read.module, read.message, read.kwargs);
}
