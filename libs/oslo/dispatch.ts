import { BerthError } from '../domain/errors';
import type { OsloRequest } from './envelope';
import { noSuchMethod, RemoteError, unsupportedVersion } from './remote-error';
import { isCompatible } from './versions';

/** The end of a call: a result, or another server of the exchange that gets the message as it came. */
export type RpcOutcome =
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'hand_over'; readonly topic: string };

/** A method. What it throws goes to the caller: a `RemoteError` as the exception that it names. */
export type RpcMethod = (args: OsloRequest['args'], request: OsloRequest) => Promise<RpcOutcome>;

/** The methods of a target, in one version of its API. */
export interface RpcApi {
  readonly version: string;
  readonly methods: Readonly<Record<string, RpcMethod>>;
}

/** Runs a request. @throws RemoteError */
export async function dispatch(request: OsloRequest, { version, methods }: RpcApi): Promise<RpcOutcome> {
  if (request.namespace !== undefined || !isCompatible(version, request.version))
    throw unsupportedVersion(request.version, request.method);
  const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (method === undefined) throw noSuchMethod(request.method);
  try {
    return await method(request.args, request);
  } catch (thrown) {
    if (thrown instanceof RemoteError) throw thrown;
    const { reason, message } = BerthError.from(thrown);
    throw new RemoteError('BerthError', 'berth', `${message} (${reason})`);
  }
}
