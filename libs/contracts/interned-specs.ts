import { LRUCache } from 'lru-cache';
import type { RequestSpec } from '../domain/request-spec';
import type { EncodedRequestSpec } from './codec';
import { requestSpecCodec } from './request-spec';

/** A spec of more bytes than this is made anew each time. */
const MAX_SPEC_BYTES = 2_048;
const MAX_KEPT_SPECS = 1_000;

/**
 * Results made from request specs, one immutable object for equal bytes: a fleet is asked for a few flavors a million
 * times, and decoding, checking and sorting a spec takes longer than placing one more instance of it.
 * `make` gets the checked spec; its result is frozen deeply. The least recently used are forgotten.
 *
 * The function that it answers throws BerthError `invalid_argument` for a spec that is malformed, with the path of the
 * field, `request_spec....`, in `details.field`.
 */
export function internedSpecs<T extends object>(make: (spec: RequestSpec) => T): (encoded: EncodedRequestSpec) => T {
  const kept = new LRUCache<string, T>({ max: MAX_KEPT_SPECS });
  return (encoded) => {
    if (encoded.length > MAX_SPEC_BYTES) return deepFreeze(make(requestSpecCodec.decode(encoded)));
    const key = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength).toString('latin1');
    const known = kept.get(key);
    if (known !== undefined) return known;
    const made = deepFreeze(make(requestSpecCodec.decode(encoded)));
    kept.set(key, made);
    return made;
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
