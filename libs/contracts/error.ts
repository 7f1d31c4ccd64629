import { berth } from '#generated/berth';
import { BerthError, type ErrorCode } from '../domain/errors';
import { type Codec, codec } from './codec';

const { Code } = berth.common.v1;

const NUMBERS: Readonly<Record<ErrorCode, berth.common.v1.Code>> = {
  invalid_argument: Code.CODE_INVALID_ARGUMENT,
  not_found: Code.CODE_NOT_FOUND,
  already_exists: Code.CODE_ALREADY_EXISTS,
  permission_denied: Code.CODE_PERMISSION_DENIED,
  failed_precondition: Code.CODE_FAILED_PRECONDITION,
  aborted: Code.CODE_ABORTED,
  resource_exhausted: Code.CODE_RESOURCE_EXHAUSTED,
  unavailable: Code.CODE_UNAVAILABLE,
  deadline_exceeded: Code.CODE_DEADLINE_EXCEEDED,
  unimplemented: Code.CODE_UNIMPLEMENTED,
  internal: Code.CODE_INTERNAL,
};
const CODES = new Map(Object.entries(NUMBERS).map(([code, number]) => [number, code as ErrorCode]));

/**
 * How errors travel. `cause` and the stack stay at home. A code that this version does not know reads as `internal`:
 * an error must never be lost because it is new.
 */
export const errorCodec: Codec<BerthError> = codec(
  'berth.common.v1.Error',
  berth.common.v1.Error,
  errorToWire,
  errorFromWire,
);

/** The type of a message that carries an error. */
export const ERROR_TYPE = errorCodec.type;

export function encodeError(error: BerthError): Uint8Array {
  return errorCodec.encode(error);
}

/** The error that a peer answered with. Never throws: bytes that are none become `internal / malformed_error`. */
export function decodeError(body: Uint8Array): BerthError {
  try {
    return errorCodec.decode(body);
  } catch (cause) {
    return new BerthError('internal', 'malformed_error', 'the peer answered with an error that can not be read', {
      cause,
    });
  }
}

export function errorToWire(error: BerthError): berth.common.v1.IError {
  return { code: NUMBERS[error.code], reason: error.reason, message: error.message, details: error.details };
}

export function errorFromWire(wire: berth.common.v1.IError): BerthError {
  const code = CODES.get(wire.code ?? Code.CODE_UNSPECIFIED) ?? 'internal';
  return new BerthError(code, wire.reason || 'unspecified', wire.message ?? '', { details: { ...wire.details } });
}
