import type { PlacementApiConfig } from '../options';
import { ERROR_CODE, HttpError } from './http-error';

export type BodyBounds = Pick<PlacementApiConfig, 'maxBodyEntries' | 'maxBodyValues' | 'maxBodyDepth'>;

/**
 * Refuses a body that has more than the API works on at once: before its schema is looked at, because what is wrong with each
 * of a million values takes long to tell, and before its handler, whose one commit would hold up the store.
 *
 * @throws HttpError 413 `berth.too_many`, with the setting that says how many
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

/** The refusal of what is too much for one request. */
export function tooMany(what: string, setting: string): HttpError {
  return new HttpError(413, `The body has ${what} (${setting}): send several smaller ones.`, ERROR_CODE.tooMany);
}
