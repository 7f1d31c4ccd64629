import { AGENT, CONDUCTOR as FLEETS_CONDUCTOR, SCHEDULER as FLEETS_SCHEDULER } from '../settings';

/*
 * Settings of hosts in racks: those of the fleet, without quarantine and declared filters, so that a host in service takes what it
 * has free, and with searches that end before their limit.
 */

export { AGENT };

export const CONDUCTOR = FLEETS_CONDUCTOR;

export const SCHEDULER = {
  ...FLEETS_SCHEDULER,
  BERTH_SCHEDULER_DECLARED_FILTERS: '',
  BERTH_SCHEDULER_QUARANTINE_FAILURES: '0',
  BERTH_SCHEDULER_GUARANTEE_STEPS: '50000',
};

/** Hosts by rack, each with an agent of its own. */
export const RACKS: Readonly<Record<string, readonly string[]>> = {
  r1: ['a1', 'a2'],
  r2: ['b1', 'b2'],
  r3: ['c1', 'c2'],
};
export const HOSTS = Object.values(RACKS).flat();

export const TENANTS = ['tenant-a', 'tenant-b'] as const;
