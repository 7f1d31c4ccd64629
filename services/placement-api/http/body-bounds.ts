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
    if (depth > maxBodyDepth) throw tooDeep(maxBodyDepth);
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
 * Refuses a body that has too many values, or is too deep, before it is parsed: an object of 300,000 names keeps the parser busy for
 * longer than all that follows, and of two million open lists it keeps 80 MB. A comma outside of a text parts two values.
 *
 * @throws HttpError 413 `berth.too_many`, with the setting of the limit
 */
export function checkEncoded(
  bytes: Uint8Array,
  { maxBodyValues, maxBodyDepth }: Pick<BodyBounds, 'maxBodyValues' | 'maxBodyDepth'>,
): void {
  let commas = 0;
  let open = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (isText) continue;
    else if (byte === COMMA && ++commas >= maxBodyValues)
      throw tooMany(`more than ${maxBodyValues} values`, 'BERTH_PLACEMENT_MAX_BODY_VALUES');
    // The innermost list or object may be empty: it is a value of the deepest level then.
    else if ((byte === LIST || byte === OBJECT) && ++open > maxBodyDepth + 1) throw tooDeep(maxBodyDepth);
    else if (byte === LIST_END || byte === OBJECT_END) open--;
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

function tooDeep(maxBodyDepth: number): HttpError {
  return tooMany(`values more than ${maxBodyDepth} levels deep`, 'BERTH_PLACEMENT_MAX_BODY_DEPTH');
}

/** The refusal of an oversized request. */
export function tooMany(what: string, setting: string): HttpError {
  return new HttpError(413, `The body has ${what} (${setting}): send several smaller ones.`, ERROR_CODE.tooMany);
}
