import { DEFAULT_CELL } from '../../domain/cells/cell';
import { BerthError } from '../../domain/errors';
import { durationOption, stringOption } from '../../runtime/config';

const PUBLISHED = 'berth-claim-key-for-trying';

/** The keys of sealed allocation requests, for schedulers, which seal, and conductors, which open. */
export const claimKeyOption = stringOption({
  env: 'BERTH_CLAIM_KEY',
  default: PUBLISHED,
  pattern: /^[^,]{16,}(,[^,]{16,})*$/,
  range: '16 characters or more; several keys with commas between',
  secret: true,
  help: 'Seals allocation requests; the same for every scheduler and conductor of a fleet. The first key seals, each opens.',
});

export const claimTtlOption = durationOption({
  env: 'BERTH_CLAIM_TTL_MS',
  default: 86_400_000,
  min: 60_000,
  max: 2_592_000_000,
  help: 'Time for which an alternate may be claimed after its selection; later, destinations are selected again.',
});

/** The keys of a cell, so that what one cell has sealed can't be claimed in another, though their hosts have equal uuids. */
export function claimKeyOf(cell: string, claimKey: string): string {
  if (cell === DEFAULT_CELL) return claimKey;
  return claimKey
    .split(',')
    .map((key) => `${key} of ${cell}`)
    .join(',');
}

/**
 * @throws BerthError `invalid_argument / bad_config` for the published key on servers that others can reach: everybody could
 *   make claims.
 */
export function refusePublishedKey(claimKey: string, ...urls: readonly string[]): void {
  if (!claimKey.split(',').includes(PUBLISHED) || urls.every((url) => url.startsWith('memory:'))) return;
  throw new BerthError(
    'invalid_argument',
    'bad_config',
    'BERTH_CLAIM_KEY is the published default, which is for memory: only; set one of your own, the same for every scheduler and conductor',
  );
}
