import { createHash, createHmac } from 'node:crypto';
import { invalidArgument } from '#libs/domain/errors';

/** A client's name for a request, so that a copy of it builds nothing: 1 to 255 visible ASCII characters. */
export const IDEMPOTENCY_HEADER = 'idempotency-key';
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Ids by which a conductor knows a request again. */
export interface Names {
  readonly requestId: string;
  readonly instanceUuids: readonly string[];
}

/** A build request with an idempotency key. */
export interface KeyedRequest {
  readonly projectId: string;
  readonly key: string;
  readonly body: unknown;
  readonly count: number;
}

/**
 * Names for a request and its instances, from its project, its key and its content: a copy has the same ones, another
 * project's key others, and another request under the same key other instances. `nameKey` is a secret of the fleet: on the
 * bus clients name their requests themselves, and one that could guess another's name would take it first.
 *
 * @throws BerthError `invalid_argument / bad_idempotency_key`.
 */
export function namesOf(nameKey: string, { projectId, key, body, count }: KeyedRequest): Names {
  if (!KEY.test(key)) {
    throw invalidArgument(
      'bad_idempotency_key',
      'Idempotency-Key must be 1 to 255 visible ASCII characters',
      IDEMPOTENCY_HEADER,
    );
  }
  // A digest, because each instance's name is made from it, and a body may have half a megabyte.
  const content = createHash('sha256').update(JSON.stringify(body, inOrder)).digest('hex');
  const named = (...parts: readonly string[]) => keyedUuid(nameKey, [projectId, key, ...parts]);
  const instanceUuids = Array.from({ length: count }, (_, i) => named(content, String(i)));
  return { requestId: named(), instanceUuids };
}

/** A UUID of version 8 (RFC 9562). */
function keyedUuid(nameKey: string, parts: readonly string[]): string {
  const text = JSON.stringify(['names of builds', ...parts]);
  const bytes = createHmac('sha256', nameKey).update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function inOrder(_name: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value;
}
