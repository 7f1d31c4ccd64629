import { STATUS_CODES } from 'node:http';
import { AuthError } from '#libs/auth/auth-error';
import { BerthError } from '#libs/domain/errors';
import { boundedText } from '#libs/domain/naming/bounded-text';
import { type Microversion, SINCE, VERSION_RANGE } from './microversion';

/** Placement's stable error symbols, which clients compare (its `errors.py`). Sent since microversion 1.23. */
export const ERROR_CODE = {
  undefined: 'placement.undefined_code',
  inventoryInUse: 'placement.inventory.inuse',
  concurrentUpdate: 'placement.concurrent_update',
  duplicateName: 'placement.duplicate_name',
  providerInUse: 'placement.resource_provider.inuse',
  cannotDeleteParent: 'placement.resource_provider.cannot_delete_parent',
  providerNotFound: 'placement.resource_provider.not_found',
  duplicateKey: 'placement.query.duplicate_key',
  badValue: 'placement.query.bad_value',
  missingValue: 'placement.query.missing_value',
  /** Berth's own, like the next one. */
  quotaExceeded: 'berth.quota_exceeded',
  tooMany: 'berth.too_many',
  tooCostly: 'berth.too_costly',
  unknownCandidate: 'berth.unknown_candidate',
} as const;

export type PlacementErrorCode = (typeof ERROR_CODE)[keyof typeof ERROR_CODE] | `berth.${string}`;

export type ErrorStatus = keyof typeof EXPLANATIONS;

/** The first sentence of the detail of each status in WebOb, and so in Placement; clients search for it. */
const EXPLANATIONS = {
  400: 'The server could not comply with the request since it is either malformed or otherwise incorrect.',
  401: 'This server could not verify that you are authorized to access the document you requested.',
  403: 'Access was denied to this resource.',
  404: 'The resource could not be found.',
  405: 'The method {method} is not allowed for this resource.',
  406: 'The resource could not be generated that was acceptable to your browser\n(content of type {accept}.',
  409: 'There was a conflict when trying to complete your request.',
  413: 'The body of your request was too large for this server.',
  414: 'The request URI was too long for this server.',
  415: 'The request media type {mediaType} is not supported by this server.',
  429: 'Too many requests.',
  431: 'The request line and headers were too long for this server.',
  500: 'The server has either erred or is incapable of performing the requested operation.',
  503: 'The server is currently unavailable. Please try again at a later time.',
} as const;

/** A refused request: thrown at any depth, answered by the app. */
export class HttpError extends Error {
  constructor(
    readonly status: ErrorStatus,
    detail = '',
    readonly code: PlacementErrorCode = ERROR_CODE.undefined,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'HttpError';
  }
}

/** The refusal of a malformed request. */
export function badRequest(detail: string, code?: PlacementErrorCode): HttpError {
  return new HttpError(400, detail, code);
}

/** The HTTP error for any error of a handler, the store or fastify; 500 without details for a defect. */
export function httpErrorOf(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown;
  if (thrown instanceof AuthError) return new HttpError(thrown.status, thrown.message, undefined, thrown.headers);
  if (thrown instanceof BerthError) {
    switch (thrown.code) {
      case 'invalid_argument':
        return badRequest(thrown.message);
      case 'aborted':
        return new HttpError(409, thrown.message, ERROR_CODE.concurrentUpdate);
      case 'unavailable':
      case 'deadline_exceeded':
      case 'resource_exhausted':
        return new HttpError(503, thrown.message, ERROR_CODE.undefined, { 'retry-after': '1' });
      default:
        break;
    }
  }
  // An error of fastify itself: a body over the limit, or with a wrong declared length.
  const status = (thrown as { statusCode?: number }).statusCode;
  if (status === 400 || status === 413 || status === 415) return new HttpError(status, BerthError.from(thrown).message);
  return new HttpError(500, 'an unexpected error; the log of the placement API has it under the request id');
}

/** Fields of an error document about its request. */
export interface Refused {
  readonly requestId: string;
  readonly method: string;
  readonly accept: string;
  readonly mediaType: string | undefined;
  /** Undefined before the microversion is known. */
  readonly version: Microversion | undefined;
}

/** The error document of the API working group's guideline. */
export function errorDocument(error: HttpError, refused: Refused) {
  const { status, code } = error;
  const { requestId, version } = refused;
  return {
    errors: [
      {
        status,
        title: titleOf(error),
        detail: detailOf(error, refused),
        ...(version !== undefined && version >= SINCE.errorCodes ? { code } : {}),
        request_id: requestId,
        ...(status === 406 && version === undefined ? VERSION_RANGE : {}),
      },
    ],
  };
}

/** The error as HTML or plain text. */
export function errorText(error: HttpError, refused: Refused, type: 'text/html' | 'text/plain'): string {
  const title = `${error.status} ${titleOf(error)}`;
  const detail = detailOf(error, refused);
  if (type === 'text/plain') return `${title}\n\n${detail}\n`;
  return `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${escaped(detail)}</p></body></html>\n`;
}

function titleOf({ status }: HttpError): string {
  return STATUS_CODES[status] ?? 'Error';
}

function detailOf({ status, message }: HttpError, { method, accept, mediaType = 'None' }: Refused): string {
  const told: Readonly<Record<string, string>> = { method, accept, mediaType };
  const explanation = EXPLANATIONS[status].replace(/\{(\w+)\}/, (_, name: string) => told[name] ?? '');
  return boundedText(`${explanation}\n\n ${message.replaceAll('\n', ' ')}  `);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
