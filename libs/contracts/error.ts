import { berth } from '#generated/berth';
import { BerthError } from '../domain/errors';
import { NO_RULES, ruled } from './field-rules';
import { anyText, enumOf, unchecked } from './fields';
import { mapped, message } from './message';

/**
 * Errors on the wire. `cause` and the stack stay behind. A code that this version does not know reads as `internal`:
 * an error must never be lost because it is new.
 */
export const errorCodec = mapped(
  message(berth.common.v1.Error, {
    code: enumOf(berth.common.v1.Code, 'CODE', 'internal'),
    reason: ruled(NO_RULES, (value: string) => value || 'unspecified'),
    message: anyText,
    details: unchecked<Readonly<Record<string, string>>>(),
  }),
  ({ code, reason, message: text, details }) => new BerthError(code, reason, text, { details: { ...details } }),
  (error: BerthError) => error,
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
