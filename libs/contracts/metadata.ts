import { invalidArgument } from '../domain/errors';
import { MAX_METADATA_BYTES } from '../domain/grouping/aggregate';
import { requiredName } from './checks';
import { ruled, rulesOf } from './field-rules';
import { map } from './fields';

type Metadata = Readonly<Record<string, string>>;
const names = map(requiredName);

/**
 * Metadata of an aggregate or a group: names and values of 1 to 255 bytes.
 *
 * @throws BerthError `invalid_argument / too_long` when all of it is more than MAX_METADATA_BYTES.
 */
export const metadata = ruled(rulesOf(names) ?? {}, (values: Metadata, path: string): Metadata => {
  const checked = names.fromWire(values, path, undefined);
  if (Buffer.byteLength(JSON.stringify(checked)) <= MAX_METADATA_BYTES) return checked;
  throw invalidArgument('too_long', `${path} may have at most ${MAX_METADATA_BYTES} bytes`, path);
});
