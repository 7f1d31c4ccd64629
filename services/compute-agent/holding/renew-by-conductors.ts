import { callMethod } from '#libs/bus/typed-calls';
import { acquireHostsMethod } from '#libs/contracts/host-leases';
import { HOST_LEASES } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { callOptions, leaseMsOf } from '../options';
import type { AcquireParts } from './acquire-hosts';

/**
 * Has conductors renew the leases of hosts whose reports no scheduler has accepted for half a lease, so that orders are
 * taken while all schedulers are away. Never called while reports are accepted. Ends when the signal aborts.
 */
export async function renewByConductors(
  parts: Pick<AcquireParts, 'bus' | 'config' | 'log' | 'clock' | 'agentRun' | 'leases'>,
  signal: AbortSignal,
): Promise<void> {
  const { bus, config, log, clock, agentRun, leases } = parts;
  const leaseMs = leaseMsOf(config);
  const logged = { isRenewed: false };
  while (!signal.aborted) {
    await sleep(clock, leaseMs / LOOKS_PER_LEASE, signal);
    const late = leases.filter((lease) => lease.isHeld && lease.leftMs < leaseMs / 2);
    if (signal.aborted || late.length === 0) {
      logged.isRenewed &&= late.length > 0;
      continue;
    }
    const askedAtMs = clock.elapsed();
    const hosts = late.map(({ host }) => host);
    const request = { serviceHost: config.host, agentRun, formerRun: '', hosts, leaseMs };
    try {
      const { grants } = await callMethod(
        { bus, queue: HOST_LEASES },
        acquireHostsMethod,
        request,
        callOptions(config),
      );
      // Held by another epoch it was lost and granted anew meanwhile.
      const renewed = late.filter((lease, n) => lease.isHeld && lease.epoch > 0 && grants[n]?.epoch === lease.epoch);
      for (const lease of renewed) lease.renew(askedAtMs);
      if (renewed.length === 0 || logged.isRenewed) continue;
      logged.isRenewed = true;
      const fields = { event: 'leases_renewed_by_conductors', host_count: renewed.length };
      log.warn(fields, 'no scheduler accepts reports: conductors renew the leases, orders continue');
    } catch (thrown) {
      const error = BerthError.from(thrown);
      log.debug({ event: 'leases_not_renewed', error }, 'no conductor renewed the leases, waiting for a scheduler');
    }
  }
}

/** Two more calls may fail before a lease runs out. */
const LOOKS_PER_LEASE = 6;
