import { HttpError } from './http-error';
import { type Microversion, NEWEST } from './microversion';

/**
 * The microversion that a header asks for, the oldest when it asks for none: `placement 1.10`, `placement latest`, among
 * others by comma (the last one for `placement` counts).
 *
 * @throws HttpError 400 when it is no version, 406 when Berth does not have it.
 */
export function requestedVersion(header: string | undefined): Microversion {
  const text = askedFor(header);
  if (text === undefined) return 0;
  if (text === 'latest') return NEWEST;
  const parts = /^(-?\d+)\s*\.\s*(-?\d+)$/.exec(text);
  if (!parts) throw new HttpError(400, `Invalid microversion: invalid version string: ${text}`);
  const [major, minor] = [Number(parts[1]), Number(parts[2])];
  if (major !== 1 || minor < 0 || minor > NEWEST) {
    throw new HttpError(406, `Invalid microversion: Unacceptable version header: ${text}`);
  }
  return minor;
}

function askedFor(header: string | undefined): string | undefined {
  const asked = (header ?? '').split(',').map((part) => /^\s*placement\s+(\S.*)$/i.exec(part)?.[1]?.trim());
  return asked.findLast((version) => version !== undefined);
}
