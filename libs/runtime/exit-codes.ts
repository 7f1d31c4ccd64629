import type { BerthError, ErrorCode } from '../domain/errors';

/** The exit codes of Berth's processes; part of the contract of `berth`, shown by each `--help`. */
export const EXIT = {
  ok: 0,
  /** The request was carried out and failed: an instance ended in ERROR, a service stopped uncleanly. */
  failed: 1,
  /** Wrong flags, request or configuration. */
  usage: 2,
  /** The bus, the store or the service is away, or did not answer in time. */
  unavailable: 3,
  /** The state forbids it: not found, exists, full, or changed by someone else meanwhile. */
  refused: 4,
  /** A defect in Berth. */
  internal: 70,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

const BY_CODE: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: EXIT.usage,
  not_found: EXIT.refused,
  already_exists: EXIT.refused,
  permission_denied: EXIT.refused,
  failed_precondition: EXIT.refused,
  aborted: EXIT.refused,
  resource_exhausted: EXIT.refused,
  unavailable: EXIT.unavailable,
  deadline_exceeded: EXIT.unavailable,
  unimplemented: EXIT.internal,
  internal: EXIT.internal,
};

export function exitCodeOf(error: BerthError): number {
  return BY_CODE[error.code];
}
