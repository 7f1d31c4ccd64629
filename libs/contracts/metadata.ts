import { invalidArgument } from '../domain/errors';
import { MAX_METADATA_BYTES } from '../domain/grouping/aggregate';
import { pairs, requiredName } from './checks';

/**
 * Metadata of an aggregate or a group: names and values of 1 to 255 bytes.
 *
 * @throws BerthError `invalid_argument / too_long` when all of it is more than MAX_METADATA_BYTES.
 */
export function metadataFromWire(values: Readonly<Record<string, string>>, field: string) {
  const metadata = pairs(values, field, requiredName);
  if (Buffer.byteLength(JSON.stringify(metadata)) <= MAX_METADATA_BYTES) return metadata;
  throw invalidArgument('too_long', `${field} may have at most ${MAX_METADATA_BYTES} bytes`, field);
}
