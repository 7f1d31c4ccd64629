import { CONDUCTOR as FLEETS_CONDUCTOR, SCHEDULER } from '../settings';

/*
 * Settings of simulated cells and their top: those of the fleet, and records that are kept for longer than the top is away. A message that
 * can't be settled goes to the end of its queue soon, so that what goes round for ever is seen.
 */

export { AGENT, LEASE_MS } from '../settings';
export { SCHEDULER };

export const CONDUCTOR = {
  ...FLEETS_CONDUCTOR,
  BERTH_CONDUCTOR_RETENTION_MS: '120000',
  BERTH_CONDUCTOR_HOLD_MS: '300',
};

const CELLS_OF_TOP = { BERTH_TOP_CELLS: 'a,b' };

export const TOP_SCHEDULER = {
  ...CELLS_OF_TOP,
  BERTH_TOP_SCHEDULER_SUMMARY_INTERVAL_MS: '500',
  BERTH_TOP_SCHEDULER_ASK_TIMEOUT_MS: '1000',
  BERTH_TOP_SCHEDULER_REFUSAL_MS: '2000',
};

export const TOP_CONDUCTOR = {
  ...CELLS_OF_TOP,
  BERTH_TOP_CONDUCTOR_SELECT_TIMEOUT_MS: '3000',
  BERTH_TOP_CONDUCTOR_SCHEDULING_TIMEOUT_MS: '6000',
  BERTH_TOP_CONDUCTOR_SYNC_INTERVAL_MS: '1000',
  BERTH_TOP_CONDUCTOR_RESYNC_INTERVAL_MS: '5000',
  BERTH_TOP_CONDUCTOR_MOVE_TIMEOUT_MS: '15000',
  BERTH_TOP_CONDUCTOR_RESERVATION_INTERVAL_MS: '10000',
  BERTH_TOP_CONDUCTOR_RETENTION_MS: '120000',
  BERTH_TOP_CONDUCTOR_HOLD_MS: '300',
};
