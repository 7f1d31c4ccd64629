import { stringOption } from '../runtime/config';

/** The key that allocation requests are sealed under: read by schedulers, who seal, and by conductors, who open. */
export const claimKeyOption = stringOption({
  env: 'BERTH_CLAIM_KEY',
  default: 'berth-claim-key-for-trying',
  pattern: /^.{16,}$/,
  range: '16 characters or more',
  secret: true,
  help: 'Seals allocation requests; the same for every scheduler and conductor of a fleet.',
});
