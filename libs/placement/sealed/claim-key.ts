import { stringOption } from '../../runtime/config';

/** The key of sealed allocation requests, for schedulers, which seal, and conductors, which open. */
export const claimKeyOption = stringOption({
  env: 'BERTH_CLAIM_KEY',
  default: 'berth-claim-key-for-trying',
  pattern: /^.{16,}$/,
  range: '16 characters or more',
  secret: true,
  help: 'Seals allocation requests; the same for every scheduler and conductor of a fleet.',
});
