import type { PlacementApiConfig } from '../options';
import { ERROR_CODE, HttpError } from './http-error';

export type BodyBounds = Pick<PlacementApiConfig, 'maxBodyEntries' | 'maxBodyValues' | 'maxBodyDepth'>;

/**
 * Refuses a body with more entries than the API processes at once: before its schema is checked, because listing the
 * faults of a million values takes long, and before its handler, whose single commit would block the store.
 *
 * @throws HttpError 413 `berth.too_many`, with the setting of the limit
 */
export function checkBody(body: unknown, { maxBodyEntries, maxBodyValues, maxBodyDepth }: BodyBounds): void {
  let level: readonly unknown[] = [body];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxBodyDepth) {
      throw tooMany(`values more than ${maxBodyDepth} levels deep`, 'BERTH_PLACEMENT_MAX_BODY_DEPTH');
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const entries = Object.values(value);
      if (entries.length > maxBodyEntries) {
        const what = `${entries.length} entries in one list or object; at most ${maxBodyEntries}`;
        throw tooMany(what, 'BERTH_PLACEMENT_MAX_BODY_ENTRIES');
      }
      count += entries.length;
      if (count > maxBodyValues) throw tooMany(`more than ${maxBodyValues} values`, 'BERTH_PLACEMENT_MAX_BODY_VALUES');
      for (const entry of entries) next.push(entry);
    }
    level = next;
  }
}

/**
 * Refuses a body that has too many values before it is parsed: an object of 300,000 names keeps the parser busy for longer than
 * all that follows. A comma outside of a text parts two values.
 *
 * @throws HttpError 413 `berth.too_many`, with the setting of the limit
 */
export function checkEncoded(bytes: Uint8Array, { maxBodyValues }: Pick<BodyBounds, 'maxBodyValues'>): void {
  let commas = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (!isText && byte === COMMA && ++commas >= maxBodyValues)
      throw tooMany(`more than ${maxBodyValues} values`, 'BERTH_PLACEMENT_MAX_BODY_VALUES');
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];

/** The refusal of an oversized request. */
export function tooMany(what: string, setting: string): HttpError {
  return new HttpError(413, `The body has ${what} (${setting}): send several smaller ones.`, ERROR_CODE.tooMany);
}
