import type { IncomingHttpHeaders } from 'node:http';
import { headerOf } from '#libs/auth/header';
import { badRequest, HttpError } from './http-error';
import { type Microversion, NEWEST } from './microversion';

/** The media type of every body of the API. */
export const JSON_TYPE = 'application/json';

/** Berth's own: `true` refuses allocations above a quota, whatever the setting. */
export const QUOTA_HEADER = 'berth-enforce-quotas';

/** Berth's own: `true` gives each allocation candidate an id, by which it may be claimed once. */
export const CANDIDATE_IDS_HEADER = 'berth-candidate-ids';

/** Berth's own: claims the candidate of this id, instead of allocations in the body. */
export const CANDIDATE_ID_HEADER = 'berth-candidate-id';

/** The media type of the body without its parameters; undefined when there is no content type. */
export function mediaTypeOf(headers: IncomingHttpHeaders): string | undefined {
  return headerOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase() || undefined;
}

/**
 * The requested microversion of a header, 1.0 by default: `placement 1.10` or `placement latest`, perhaps among other
 * services separated by commas (the last one for `placement` counts).
 *
 * @throws HttpError 400 when it is malformed, 406 when Berth does not support it.
 */
export function requestedVersion(header: string | undefined): Microversion {
  const text = requestedFor(header);
  if (text === undefined) return 0;
  if (text === 'latest') return NEWEST;
  const parts = /^(-?\d+)\s*\.\s*(-?\d+)$/.exec(text);
  if (!parts) throw badRequest(`Invalid microversion: invalid version string: ${text}`);
  const [major, minor] = [Number(parts[1]), Number(parts[2])];
  if (major !== 1 || minor < 0 || minor > NEWEST) {
    throw new HttpError(406, `Invalid microversion: Unacceptable version header: ${text}`);
  }
  return minor;
}

function requestedFor(header: string | undefined): string | undefined {
  const versions = (header ?? '').split(',').map((part) => /^\s*placement\s+(\S.*)$/i.exec(part)?.[1]?.trim());
  return versions.findLast((version) => version !== undefined);
}
